// Runs the work manager of an Open Cluster Management hub alone: ManifestWorkReplicaSets become
// ManifestWorks of clusters (`--feature-gates=ManifestWorkReplicaSet=true`). The stock command holds
// all controllers of a hub.
package main

import (
	"context"
	"fmt"
	"os"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/clock"

	ocmfeature "open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/common/options"
	"open-cluster-management.io/ocm/pkg/features"
	"open-cluster-management.io/ocm/pkg/version"
	"open-cluster-management.io/ocm/pkg/work/hub"
)

func main() {
	utilruntime.Must(features.HubMutableFeatureGate.Add(ocmfeature.DefaultHubWorkFeatureGates))
	opts := options.NewOptions()
	works := hub.NewWorkHubManagerOptions()
	config := hub.NewWorkHubManagerConfig(works)
	command := opts.
		NewControllerCommandConfig("work-manager", version.Get(), config.RunWorkHubManager, clock.RealClock{}).
		NewCommandWithContext(context.Background())
	opts.AddFlags(command.Flags())
	works.AddFlags(command.Flags())
	features.HubMutableFeatureGate.AddFlag(command.Flags())
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
