"""The application: a typed function for each question and each act, for every kind alike.

The command line and the API call these functions and encode what they return; nothing here parses
flags, prints, reads a clock or opens a connection. What belongs to one kind is in `kinds/*/app`.
"""
