// Runs the placement controller of Open Cluster Management alone. The stock command holds the
// registration controllers as well, and by them the SDKs of several clouds.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/utils/clock"

	"open-cluster-management.io/ocm/pkg/common/options"
	"open-cluster-management.io/ocm/pkg/placement/controllers"
	"open-cluster-management.io/ocm/pkg/version"
)

func main() {
	opts := options.NewOptions()
	command := opts.
		NewControllerCommandConfig("placement", version.Get(), hub.RunControllerManager, clock.RealClock{}).
		NewCommandWithContext(context.Background())
	opts.AddFlags(command.Flags())
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
