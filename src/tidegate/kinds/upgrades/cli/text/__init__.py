"""Documents of upgrades as text: tables, trees and lines."""
