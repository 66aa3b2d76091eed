// Package collective describes traffic between nodes: the patterns with which networks
// are measured (all-to-all, permutations, hot spots, arbitrary matrices) and the phases
// of data-tensor parallelism.
//
// A Traffic lists flows between nodes with their bytes, without time or paths. Patterns
// are functions that return a Traffic, such as AllToAll and Permutation; Pattern and
// Patterns make a pattern available to scenarios by name. Matrices are read from files
// (ReadSizes, ReadEntries) or drawn at random (ZipfSizes). OnOff describes paced sources.
// Traffic.Graph converts a Traffic to a task graph for the engines.
//
// Start reading at Traffic in traffic.go and AllToAll in patterns.go.
package collective

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"sim/engine"
)

// ErrTraffic is wrapped by all errors about invalid traffic.
var ErrTraffic = errors.New("collective: no such traffic")

// Traffic is a set of flows with their bytes. Flows are sorted by source and destination.
// A pair occurs at most once, and no flow goes from a node to itself.
type Traffic struct {
	Name  string // of the pattern, for people
	Nodes int    // nodes of the network, up or down
	Flows []engine.Flow
	// Message is the unit of Demand, in bytes. Flow f carries Bytes[f] bytes, between 1
	// and Message. If Bytes is nil, every flow carries Message.
	Message int64
	Bytes   []int64
	// RandomDestinations lets each node send its packets to randomly drawn destinations
	// among its flows instead of serving one flow after another. The bytes of a flow are
	// then a mean.
	RandomDestinations bool
}

// Size returns the bytes of a flow.
func (t *Traffic) Size(flow int) int64 {
	if t.Bytes == nil {
		return t.Message
	}
	return t.Bytes[flow]
}

// Total returns the bytes of all flows.
func (t *Traffic) Total() int64 {
	if t.Bytes == nil {
		return t.Message * int64(len(t.Flows))
	}
	sum := int64(0)
	for _, b := range t.Bytes {
		sum += b
	}
	return sum
}

// Demand returns the bytes of each flow in units of Message, which routers use as
// weights. nil means one unit per flow.
func (t *Traffic) Demand() []float64 {
	if t.Bytes == nil {
		return nil
	}
	d := make([]float64, len(t.Bytes))
	for f, b := range t.Bytes {
		d[f] = float64(b) / float64(t.Message)
	}
	return d
}

// Graph returns the traffic as transfers that all start at time 0. Task f is flow f. It
// fails if there are more than MaxTasks flows.
func (t *Traffic) Graph() (*engine.Graph, error) {
	if len(t.Flows) > MaxTasks {
		return nil, tooManyTasks(t.Name, int64(len(t.Flows)))
	}
	const edges = 0
	g := &engine.Graph{}
	g.Grow(len(t.Flows), edges)
	for f, w := range t.Flows {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: w.Src, Dst: w.Dst, Flows: 1, Bytes: t.Size(f)})
	}
	g.Namer = func(id int32) string {
		return fmt.Sprintf("%s from %d to %d", t.Name, t.Flows[id].Src, t.Flows[id].Dst)
	}
	return g, g.Freeze()
}

// MaxTasks is the maximum number of tasks of a graph built by this package. This many
// take about 2 GB.
const MaxTasks = 1 << 24

// tooManyTasks reports more than MaxTasks tasks.
func tooManyTasks(name string, tasks int64) error {
	const taskBytes = 128 // bytes per task, its edges and their index
	return fmt.Errorf("%w: %s makes %d tasks, which take about %d MB; want at most %d", ErrTraffic,
		name, tasks, tasks*taskBytes/1e6, MaxTasks)
}

// checkNodes fails on an invalid message size or set of nodes.
func checkNodes(name string, nodes int, message int64, down []bool) error {
	switch {
	case message < 1:
		return fmt.Errorf("%w: %s with messages of %d B; want at least 1 B", ErrTraffic, name, message)
	case nodes < 1 || nodes > math.MaxInt32:
		return fmt.Errorf("%w: %s among %d nodes; want 1 to %d", ErrTraffic, name, nodes, math.MaxInt32)
	case down != nil && len(down) != nodes:
		return fmt.Errorf("%w: %s among %d nodes, but down has %d entries", ErrTraffic, name,
			nodes, len(down))
	}
	if up := len(liveNodes(nodes, down)); up < 2 {
		return fmt.Errorf("%w: %s needs at least 2 nodes that are up, of %d there are %d",
			ErrTraffic, name, nodes, up)
	}
	return nil
}

// checkTotal fails if the total number of bits of the flows exceeds an int64.
func checkTotal(name string, flows, message int64) error {
	if flows > 0 && message > math.MaxInt64/8/flows {
		return fmt.Errorf("%w: %s of %d messages of %d B is more bytes than can be counted",
			ErrTraffic, name, flows, message)
	}
	return nil
}

// liveNodes returns the nodes that are up, in order.
func liveNodes(nodes int, down []bool) []int32 {
	up := make([]int32, 0, nodes)
	for n := range int32(nodes) {
		if down == nil || !down[n] {
			up = append(up, n)
		}
	}
	return up
}

// FromGraph returns the total bytes of the transfers of a task graph between each pair of
// nodes. Transfers from a node to itself are ignored.
func FromGraph(name string, nodes int, g *engine.Graph) (*Traffic, error) {
	sum := map[engine.Flow]int64{}
	for i := range g.Tasks {
		if t := &g.Tasks[i]; t.Kind == engine.Transfer && t.Src != t.Dst && t.Bytes > 0 {
			sum[engine.Flow{Src: t.Src, Dst: t.Dst}] += t.Bytes
		}
	}
	t := &Traffic{Name: name, Nodes: nodes}
	for f := range sum {
		t.Flows = append(t.Flows, f)
	}
	slices.SortFunc(t.Flows, comparePairs)
	for _, f := range t.Flows {
		t.Bytes = append(t.Bytes, sum[f])
		t.Message = max(t.Message, sum[f])
	}
	return t, t.checkNotEmpty()
}
