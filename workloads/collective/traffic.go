// Package collective says what jobs move between nodes: the patterns by which networks are measured (all-to-all,
// permutations, hot spots, any matrix, the phases of data-tensor parallelism).
//
// A Traffic is who sends how much to whom; a task graph says what waits for what besides. Neither names a link: paths
// are chosen in policies/routing, and time is the engines'.
package collective

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"sim/engine"
)

// ErrTraffic is wrapped by every error about traffic that cannot be.
var ErrTraffic = errors.New("collective: no such traffic")

// Traffic is flows and how much each of them carries. Flows are in the order of (source, destination), no pair comes
// twice, and none is from a node to itself.
type Traffic struct {
	Name  string
	Nodes int // of the network, those that are down included
	Flows []engine.Flow
	// Message is the unit of Demand in bytes. Flow f carries Bytes[f], which is at least 1 and at most Message; nil is
	// Message each.
	Message int64
	Bytes   []int64
	// RandomDestinations asks that each node send its packets to destinations drawn at random from its flows, rather than to one
	// after the other. What a flow carries is then the mean.
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

// Demand returns what each flow carries in units of Message, as routers weigh it; nil is one unit each.
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

// Graph returns the traffic as transfers that all start at once: task f is flow f. It fails where there are more than
// MaxTasks flows.
func (t *Traffic) Graph() (*engine.Graph, error) {
	if len(t.Flows) > MaxTasks {
		return nil, tooManyTasks(t.Name, int64(len(t.Flows)))
	}
	g := &engine.Graph{}
	g.Grow(len(t.Flows), 0)
	for f, w := range t.Flows {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: w.Src, Dst: w.Dst, Flows: 1, Bytes: t.Size(f)})
	}
	g.Namer = func(id int32) string {
		return fmt.Sprintf("%s from %d to %d", t.Name, t.Flows[id].Src, t.Flows[id].Dst)
	}
	return g, g.Freeze()
}

// MaxTasks is the most tasks of a graph that this package makes, some 2 GB.
const MaxTasks = 1 << 24

func tooManyTasks(name string, tasks int64) error {
	const taskBytes = 128 // a task, its edges and their index
	return fmt.Errorf("%w: %s makes %d tasks, which take about %d MB; want at most %d", ErrTraffic,
		name, tasks, tasks*taskBytes/1e6, MaxTasks)
}

// checkNodes fails on a pattern that cannot be.
func checkNodes(name string, nodes int, message int64, down []bool) error {
	switch {
	case message < 1:
		return fmt.Errorf("%w: %s with messages of %d B; want at least 1 B", ErrTraffic, name, message)
	case nodes < 1 || nodes > math.MaxInt32:
		return fmt.Errorf("%w: %s among %d nodes", ErrTraffic, name, nodes)
	case down != nil && len(down) != nodes:
		return fmt.Errorf("%w: %s among %d nodes, with the state of %d", ErrTraffic, name, nodes, len(down))
	}
	if up := len(liveNodes(nodes, down)); up < 2 {
		return fmt.Errorf("%w: %s needs at least 2 nodes that are up, of %d there are %d",
			ErrTraffic, name, nodes, up)
	}
	return nil
}

// checkTotal fails where the bytes of so many messages are more than an int64 holds.
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

// FromGraph returns what the transfers of a task graph send together between each two of so many nodes. Those from a node
// to itself are none.
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
