// Peer runs the rollout library of Open Cluster Management itself, so that
// Tidegate's benchmark measures both in the same run on the same fleet.
//
// It has two uses: timing one decision over a synthetic fleet (-scenario, -all),
// and answering rollout lines with the library's own decision (-stdin).
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	clusterv1alpha1 "open-cluster-management.io/api/cluster/v1alpha1"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	rollout "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1alpha1"
	placement "open-cluster-management.io/sdk-go/pkg/apis/cluster/v1beta1"
)

const (
	sdkPath       = "open-cluster-management.io/sdk-go"
	placementName = "fleet"
	// The API allows at most this many clusters in one PlacementDecision.
	decisionClustersMax = 100
)

// group is a decision group as rollout lines spell it.
type group struct {
	Name     string   `json:"name"`
	Index    int32    `json:"index"`
	Clusters []string `json:"clusters"`
}

// decisions serves PlacementDecisions from memory, as an informer cache does.
type decisions []*clusterv1beta1.PlacementDecision

func (d decisions) List(
	selector labels.Selector, _ string,
) (selected []*clusterv1beta1.PlacementDecision, err error) {
	for _, decision := range d {
		if selector.Matches(labels.Set(decision.Labels)) {
			selected = append(selected, decision)
		}
	}
	return selected, nil
}

// newDecisions writes the groups the way the placement controller does: in
// chunks, and an empty group as one empty decision.
func newDecisions(groups []group) decisions {
	var all decisions
	for _, g := range groups {
		for rest := g.Clusters; ; {
			chunk := rest[:min(len(rest), decisionClustersMax)]
			rest = rest[len(chunk):]
			all = append(all, newDecision(g, chunk))
			if len(rest) == 0 {
				break
			}
		}
	}
	return all
}

func newDecision(g group, clusters []string) *clusterv1beta1.PlacementDecision {
	decision := &clusterv1beta1.PlacementDecision{}
	decision.Labels = map[string]string{
		clusterv1beta1.PlacementLabel:          placementName,
		clusterv1beta1.DecisionGroupNameLabel:  g.Name,
		clusterv1beta1.DecisionGroupIndexLabel: strconv.Itoa(int(g.Index)),
	}
	for _, name := range clusters {
		decision.Status.Decisions = append(
			decision.Status.Decisions, clusterv1beta1.ClusterDecision{ClusterName: name})
	}
	return decision
}

// stoppedClock makes a decision a function of its input: a fleet slow enough to
// take minutes must not time out its own clusters meanwhile.
type stoppedClock struct {
	clock.RealClock
	now time.Time
}

func (c stoppedClock) Now() time.Time { return c.now }

// decider is the library, loaded with one fleet: only the decision is left to do.
type decider func(
	clusterv1alpha1.RolloutStrategy, []rollout.ClusterRolloutStatus,
) (*clusterv1alpha1.RolloutStrategy, rollout.RolloutResult, error)

func newDecider(groups []group, now time.Time) (decider, error) {
	rollout.RolloutClock = stoppedClock{now: now}
	selected := &clusterv1beta1.Placement{}
	selected.Name = placementName
	tracker := placement.NewPlacementDecisionClustersTracker(selected, newDecisions(groups), nil)
	if err := tracker.Refresh(); err != nil {
		return nil, err
	}
	// A decision never calls the status function: statuses are its argument.
	handler, err := rollout.NewRolloutHandler[struct{}](tracker, nil)
	if err != nil {
		return nil, err
	}
	return handler.GetRolloutCluster, nil
}

// sdkVersion is the version of the library linked into this binary.
func sdkVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dep := range info.Deps {
		if dep.Path == sdkPath {
			return dep.Version
		}
	}
	return "unknown"
}

const (
	groupCount = 10
	// One cluster in twenty is in flight: half of what the window of 10 % allows,
	// so a Progressive decision has slots to fill.
	inFlightShare = 20
	limitShare    = "10%"
	deadline      = "10m"
	// Well inside the deadline: nothing times out.
	inFlightFor = time.Minute
	// Longer ago than any soak.
	succeededFor = 24 * time.Hour
)

var (
	strategyNames = []string{"All", "Progressive", "PerGroup", "ProgMand"}
	stageNames    = []string{"fresh", "half", "done"}
	// Any instant will do: the clock stands still during a decision.
	benchNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// timing is one printed line; the best of the repeats, as noise only ever adds.
type timing struct {
	Scenario  string  `json:"scenario"`
	Clusters  int     `json:"clusters"`
	Repeat    int     `json:"repeat"`
	WallMs    float64 `json:"wallMs"`
	CPUMs     float64 `json:"cpuMs"`
	ToRollout int     `json:"toRollout"`
	Breach    bool    `json:"breach"`
	SDK       string  `json:"sdk"`
}

func scenarioNames() (names []string) {
	for _, strategy := range strategyNames {
		for _, stage := range stageNames {
			names = append(names, strategy+"/"+stage)
		}
	}
	return names
}

func timeScenario(name string, clusters, repeat int) (timing, error) {
	if !slices.Contains(scenarioNames(), name) {
		return timing{}, fmt.Errorf("-scenario %q: write one of %v", name, scenarioNames())
	}
	if clusters < groupCount {
		return timing{}, fmt.Errorf("-clusters %d: write at least %d", clusters, groupCount)
	}
	if repeat < 1 {
		return timing{}, fmt.Errorf("-repeat %d: write at least 1", repeat)
	}
	strategyName, stage, _ := strings.Cut(name, "/")
	groups := newGroups(clusters)
	decide, err := newDecider(groups, benchNow)
	if err != nil {
		return timing{}, err
	}
	strategy, statuses := newStrategy(strategyName), newStatuses(groups, stage, clusters)
	best := timing{
		Scenario: name, Clusters: clusters, Repeat: repeat,
		WallMs: math.Inf(1), CPUMs: math.Inf(1), SDK: sdkVersion(),
	}
	for range repeat {
		// The garbage of building the fleet is not the library's to collect.
		runtime.GC()
		cpuAtStart, startedAt := cpuTime(), time.Now()
		_, result, err := decide(strategy, statuses)
		wall, cpu := time.Since(startedAt), cpuTime()-cpuAtStart
		if err != nil {
			return timing{}, err
		}
		best.WallMs = min(best.WallMs, milliseconds(wall))
		best.CPUMs = min(best.CPUMs, milliseconds(cpu))
		best.ToRollout, best.Breach = len(result.ClustersToRollout), result.MaxFailureBreach
	}
	return best, nil
}

// newGroups cuts the fleet, in name order, into ten groups of equal size (give or take one).
func newGroups(clusters int) []group {
	groups := make([]group, groupCount)
	for i := range groups {
		groups[i] = group{Name: fmt.Sprintf("group-%d", i), Index: int32(i)}
	}
	for i := range clusters {
		g := &groups[i*groupCount/clusters]
		g.Clusters = append(g.Clusters, fmt.Sprintf("cluster-%07d", i))
	}
	return groups
}

// newStatuses gives the fleet a past, in name order. Of 1,000 clusters, half way:
// 0..449 succeeded, 450..499 are in flight, 500..999 were never touched.
func newStatuses(groups []group, stage string, clusters int) []rollout.ClusterRolloutStatus {
	touched := map[string]int{"fresh": 0, "half": clusters / 2, "done": clusters}[stage]
	inFlight := map[string]int{"half": clusters / inFlightShare}[stage]
	statuses := make([]rollout.ClusterRolloutStatus, 0, touched)
	for _, g := range groups {
		for _, name := range g.Clusters[:min(len(g.Clusters), touched-len(statuses))] {
			status, since := rollout.Succeeded, benchNow.Add(-succeededFor)
			if len(statuses) >= touched-inFlight {
				status, since = rollout.Progressing, benchNow.Add(-inFlightFor)
			}
			statuses = append(statuses, rollout.ClusterRolloutStatus{
				ClusterName:        name,
				GroupKey:           placement.GroupKey{GroupName: g.Name, GroupIndex: g.Index},
				Status:             status,
				LastTransitionTime: &metav1.Time{Time: since},
			})
		}
	}
	return statuses
}

func newStrategy(name string) clusterv1alpha1.RolloutStrategy {
	limit := intstr.FromString(limitShare)
	config := clusterv1alpha1.RolloutConfig{ProgressDeadline: deadline, MaxFailures: limit}
	progressive := &clusterv1alpha1.RolloutProgressive{RolloutConfig: config, MaxConcurrency: limit}
	switch name {
	case "All":
		return clusterv1alpha1.RolloutStrategy{
			Type: clusterv1alpha1.All,
			All:  &clusterv1alpha1.RolloutAll{RolloutConfig: config},
		}
	case "PerGroup":
		return clusterv1alpha1.RolloutStrategy{
			Type:                clusterv1alpha1.ProgressivePerGroup,
			ProgressivePerGroup: &clusterv1alpha1.RolloutProgressivePerGroup{RolloutConfig: config},
		}
	case "ProgMand":
		progressive.MandatoryDecisionGroups.MandatoryDecisionGroups =
			[]clusterv1alpha1.MandatoryDecisionGroup{{GroupName: "group-0"}}
	}
	return clusterv1alpha1.RolloutStrategy{
		Type: clusterv1alpha1.Progressive, Progressive: progressive,
	}
}

// cpuTime is what this process has used on all cores, its garbage collector included.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // Linux refuses only a wrong argument.
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// milliseconds keeps microseconds: finer digits are noise.
func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

const (
	// A line of a million clusters, each with a status, is about half of this.
	lineBytesMax = 256 << 20
	// The library takes any number it does not know as Progressing.
	unknownStatus = rollout.RolloutStatus(99)
)

var statusNames = map[rollout.RolloutStatus]string{
	rollout.ToApply: "ToApply", rollout.Progressing: "Progressing", rollout.Succeeded: "Succeeded",
	rollout.Failed: "Failed", rollout.TimeOut: "TimeOut", rollout.Skip: "Skip",
	unknownStatus: fmt.Sprintf("Unknown(%d)", unknownStatus),
}

type groupKey struct {
	Name  string `json:"name"`
	Index int32  `json:"index"`
}

// clusterStatus is a cluster's entry, the same in questions and answers. Its times
// are not Kubernetes times: those are written in whole seconds, and a recheck need not be.
type clusterStatus struct {
	Cluster            string     `json:"cluster"`
	Group              groupKey   `json:"group"`
	Status             string     `json:"status"`
	LastTransitionTime *time.Time `json:"lastTransitionTime,omitempty"`
	RecheckTime        *time.Time `json:"recheckTime,omitempty"`
}

type question struct {
	Now      *time.Time                      `json:"now"`
	Groups   []group                         `json:"groups"`
	Statuses []clusterStatus                 `json:"statuses"`
	Strategy clusterv1alpha1.RolloutStrategy `json:"strategy"`
}

type answer struct {
	ToRollout        []clusterStatus `json:"toRollout"`
	TimeOut          []clusterStatus `json:"timeOut"`
	Removed          []clusterStatus `json:"removed"`
	MaxFailureBreach bool            `json:"maxFailureBreach"`
	RecheckAfterNs   *time.Duration  `json:"recheckAfterNs"`
	Error            string          `json:"error,omitempty"`
}

// answerLines writes one answer for every line that is not blank, at once, so
// that a caller may ask line by line over a pipe.
func answerLines(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineBytesMax)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		result, err := decideLine(lines.Bytes())
		if err := encoder.Encode(newAnswer(result, err)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func decideLine(line []byte) (rollout.RolloutResult, error) {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return rollout.RolloutResult{}, fmt.Errorf("unreadable line: %w", err)
	}
	if q.Now == nil {
		return rollout.RolloutResult{}, errors.New("unreadable line: now is missing")
	}
	decide, err := newDecider(q.Groups, *q.Now)
	if err != nil {
		return rollout.RolloutResult{}, err
	}
	statuses := make([]rollout.ClusterRolloutStatus, 0, len(q.Statuses))
	for _, s := range q.Statuses {
		statuses = append(statuses, rollout.ClusterRolloutStatus{
			ClusterName:        s.Cluster,
			GroupKey:           placement.GroupKey{GroupName: s.Group.Name, GroupIndex: s.Group.Index},
			Status:             parseStatus(s.Status),
			LastTransitionTime: kubernetesTime(s.LastTransitionTime),
		})
	}
	_, result, err := decide(q.Strategy, statuses)
	return result, err
}

func parseStatus(name string) rollout.RolloutStatus {
	for status, known := range statusNames {
		if known == name {
			return status
		}
	}
	return unknownStatus
}

func newAnswer(result rollout.RolloutResult, err error) answer {
	a := answer{
		ToRollout:        entries(result.ClustersToRollout),
		TimeOut:          entries(result.ClustersTimeOut),
		Removed:          entries(result.ClustersRemoved),
		MaxFailureBreach: result.MaxFailureBreach,
		RecheckAfterNs:   result.RecheckAfter,
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

func entries(statuses []rollout.ClusterRolloutStatus) []clusterStatus {
	list := make([]clusterStatus, 0, len(statuses))
	for _, s := range statuses {
		list = append(list, clusterStatus{
			Cluster:            s.ClusterName,
			Group:              groupKey{Name: s.GroupKey.GroupName, Index: s.GroupKey.GroupIndex},
			Status:             statusNames[s.Status],
			LastTransitionTime: plainTime(s.LastTransitionTime),
			RecheckTime:        plainTime(s.RecheckTime),
		})
	}
	return list
}

func kubernetesTime(t *time.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	return &metav1.Time{Time: *t}
}

func plainTime(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("peer", flag.ExitOnError)
	scenario := flags.String("scenario", "", "one of "+fmt.Sprint(scenarioNames()))
	clusters := flags.Int("clusters", 10000, "size of the fleet")
	repeat := flags.Int("repeat", 3, "decisions to make; the best is printed")
	all := flags.Bool("all", false, "time every scenario")
	stdin := flags.Bool("stdin", false, "answer rollout lines from standard input")
	flags.Parse(args)
	if *stdin {
		return answerLines(in, out)
	}
	names := []string{*scenario}
	if *all {
		names = scenarioNames()
	}
	for _, name := range names {
		timing, err := timeScenario(name, *clusters, *repeat)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(timing); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}
