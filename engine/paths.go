package engine

// This file defines the paths of packets. Routers compute them, package packet follows them, and
// RoutesOf converts them to the routes of the flow level.

import (
	"context"
	"fmt"
	"iter"
	"math"
)

// Flow is the traffic from one node to another.
type Flow struct{ Src, Dst int32 }

// Step is one hop of a path: the port of the current node and the virtual channel on the link.
// The lower channelShift bits hold the port, and the bits above them the channel. Example: port
// 5 and channel 2 are 2<<12 | 5.
type Step uint16

const (
	// Arrived terminates the steps of a path.
	Arrived Step = math.MaxUint16
	// MaxPort and MaxChannel are the largest port and channel that a Step can hold. Channel 15
	// is not available, because Arrived has it.
	MaxPort    = 1<<channelShift - 1
	MaxChannel = 1<<4 - 2

	channelShift = 12
)

// MakeStep returns the step over a port and channel.
func MakeStep(port, channel int) Step { return Step(channel<<channelShift | port) }

// Port returns the port of a step.
func (s Step) Port() int { return int(s & MaxPort) }

// Channel returns the virtual channel of a step.
func (s Step) Channel() int { return int(s >> channelShift) }

// Paths holds source routes as sequences of ports. In a symmetric network, flows from different
// nodes take the same ports. They form a class and share its paths, so that memory grows with the
// number of classes and not with the number of flows.
type Paths struct {
	Degree int     // ports per node
	Link   []int32 // link of a port, indexed by node*Degree+port; -1 if the port has none
	Class  []int32 // class of a flow, indexed by flow; nil if flow f is class f

	// Class c has the paths First[c] to First[c+1]-1. Each packet takes one of them, path w
	// with probability Share[w]. If First is nil, the only path of class c is path c. If Share
	// is nil, the shares are equal.
	First []int32
	Share []float64

	// The steps of path w start at Step[Start[w]] and end before the next Arrived. Start[w] is
	// -1 if no path exists; flows of the class then cannot be served.
	Start []int64
	Step  []Step

	// Spread routes packets hop by hop instead of along paths, if it is not nil. Only Degree and
	// Link are used then.
	Spread *NextHops
}

// ClassOf returns the class of a flow.
func (w *Paths) ClassOf(flow int32) int32 {
	if w.Class == nil {
		return flow
	}
	return w.Class[flow]
}

// classes returns the number of classes.
func (w *Paths) classes() int {
	if w.First == nil {
		return len(w.Start)
	}
	return len(w.First) - 1
}

// Of returns the paths of a class: first <= path < end.
func (w *Paths) Of(class int32) (first, end int32) {
	if w.First == nil {
		return class, class + 1
	}
	return w.First[class], w.First[class+1]
}

// ShareOf returns the share of a class's packets that take one of its paths.
func (w *Paths) ShareOf(class, path int32) float64 {
	if w.Share != nil {
		return w.Share[path]
	}
	first, end := w.Of(class)
	return 1 / float64(end-first)
}

// Steps returns the steps of a path without Arrived. The slice must not be modified.
func (w *Paths) Steps(path int32) []Step {
	begin := w.Start[path]
	end := begin
	for w.Step[end] != Arrived {
		end++
	}
	return w.Step[begin:end]
}

// Add appends a path and returns its number.
func (w *Paths) Add(steps ...Step) int32 {
	w.Start = append(w.Start, int64(len(w.Step)))
	w.Step = append(append(w.Step, steps...), Arrived)
	return int32(len(w.Start) - 1)
}

// Channels returns the number of virtual channels that the paths need.
func (w *Paths) Channels() int {
	top := 0
	for _, s := range w.Step {
		if s != Arrived {
			top = max(top, s.Channel())
		}
	}
	return top + 1
}

// Out returns the link that a step takes from a node, -1 if the port has none.
func (w *Paths) Out(node int32, s Step) int32 {
	if s.Port() >= w.Degree {
		return -1
	}
	return w.Link[int(node)*w.Degree+s.Port()]
}

// Links iterates over the links of a path that starts at a node. The slice all has the links of
// the network.
func (w *Paths) Links(from, path int32, all []Link) iter.Seq[int32] {
	return func(yield func(link int32) bool) {
		node := from
		for _, s := range w.Steps(path) {
			link := w.Out(node, s)
			if !yield(link) {
				return
			}
			node = all[link].To
		}
	}
}

// flowsPerContextCheck is the number of flows between two checks of a context. They take some
// milliseconds.
const flowsPerContextCheck = 1 << 14

// Check returns an error if a path does not connect the source and destination of a flow of
// its class. The links must be up, and must have the channels that the path uses. It returns
// the error of ctx if ctx is cancelled.
func (w *Paths) Check(ctx context.Context, n *Network, flows []Flow) error {
	if w.Degree < 1 || w.Degree > MaxPort+1 ||
		len(w.Link) != int(n.Nodes)*w.Degree || len(w.Step) > math.MaxInt32 {
		return fmt.Errorf("engine: paths of %d steps over %d ports, %d a node, of %d nodes",
			len(w.Step), len(w.Link), w.Degree, n.Nodes)
	}

	for i, l := range w.Link {
		if l < -1 || int(l) >= len(n.Links) || l >= 0 && int(n.Links[l].From) != i/w.Degree {
			return fmt.Errorf("engine: port %d of node %d is no link out of it",
				i%w.Degree, i/w.Degree)
		}
	}

	if w.Spread != nil {
		return w.Spread.check(ctx, n, flows)
	}
	if k := len(w.Step); k > 0 && w.Step[k-1] != Arrived {
		return fmt.Errorf("engine: the last path has no end")
	}
	classes := w.classes()
	if w.Class == nil && len(flows) != classes ||
		w.Class != nil && len(w.Class) != len(flows) ||
		w.Share != nil && len(w.Share) != len(w.Start) {
		return fmt.Errorf("engine: %d flows have paths of %d classes, and %d shares for %d paths",
			len(flows), classes, len(w.Share), len(w.Start))
	}

	for _, begin := range w.Start {
		if begin < -1 || begin >= int64(len(w.Step)) {
			return fmt.Errorf("engine: a path begins at step %d of %d", begin, len(w.Step))
		}
	}

	// Check each flow on each of its paths. If many flows share paths, prefixes finds the
	// correct ones faster. checkPath then describes the error of the others.
	prefixes := newPathPrefixes(n, w, len(flows)) // nil if it would not be faster
	for f, flow := range flows {
		if f%flowsPerContextCheck == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c := w.ClassOf(int32(f))
		if c < 0 || int(c) >= classes {
			return fmt.Errorf("engine: flow %d is of class %d of %d", f, c, classes)
		}
		first, end := w.Of(c)
		if first < 0 || first >= end || int(end) > len(w.Start) {
			return fmt.Errorf("engine: no path leads flow %d from node %d to %d",
				f, flow.Src, flow.Dst)
		}
		for k := first; k < end; k++ {
			if prefixes != nil && prefixes.connects(flow, k) {
				continue
			}
			if err := w.checkPath(n, int32(f), flow, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPath returns an error if a path does not connect the source and destination of a flow.
func (w *Paths) checkPath(n *Network, f int32, flow Flow, path int32) error {
	if w.Start[path] < 0 || flow.Src < 0 || flow.Src >= n.Nodes {
		return fmt.Errorf("engine: no path leads flow %d from node %d to %d", f, flow.Src, flow.Dst)
	}

	node := flow.Src
	for i := w.Start[path]; w.Step[i] != Arrived; i++ {
		s := w.Step[i]
		l := w.Out(node, s)
		if l < 0 || n.Links[l].Rate == 0 {
			return fmt.Errorf("engine: the path of flow %d from node %d to %d cannot take port %d at node %d",
				f, flow.Src, flow.Dst, s.Port(), node)
		}
		if c := max(1, n.Links[l].Channels); int32(s.Channel()) >= c {
			return fmt.Errorf("engine: the path of flow %d from node %d to %d takes channel %d of %s, which has %d",
				f, flow.Src, flow.Dst, s.Channel(), n.ResourceName(l), c)
		}
		node = n.Links[l].To
	}
	if node != flow.Dst {
		return fmt.Errorf("engine: the path of flow %d from node %d to %d ends at %d",
			f, flow.Src, flow.Dst, node)
	}
	return nil
}
