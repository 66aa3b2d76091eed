// This file declares the networks with link loads, and the distributions of packet delays,
// in detail.json. The JSON names are part of the file format and never change, even if
// fields have clearer names.

package result

import "slices"

// Torus is a torus or mesh with the loads of its links.
type Torus struct {
	Dims  []int       `json:"dims"` // number of nodes along each dimension
	Unit  string      `json:"unit"` // unit of loads, such as "messages"
	Links []TorusLink `json:"links"`
	// Routes are selected paths, such as detours around a fault.
	Routes []TorusRoute `json:"ways,omitempty"`
	// Pairs is indexed by source. An element has the paths from the source to each node,
	// separated by spaces. A path has one character per hop: '0' for the first link in Links
	// that leaves the current node, '1' for the second, and so on. If the messages of a pair
	// are split over several paths, it is the path with the maximum share. Pairs is empty if
	// there are too many paths.
	Pairs []string `json:"pairs,omitempty"`
}

// TorusLink is a directed link. Node numbers increase fastest along the last dimension.
type TorusLink struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Dim   int     `json:"dim"`             // index in Torus.Dims
	Up    bool    `json:"up,omitempty"`    // in the direction of increasing coordinates
	Wrap  bool    `json:"wrap,omitempty"`  // wrap-around link
	State string  `json:"state,omitempty"` // "down", "drained", or "" for up
	Load  float64 `json:"load"`
}

// TorusRoute is a path between a pair of nodes.
type TorusRoute struct {
	Src       int   `json:"src"`
	Dst       int   `json:"dst"`
	Links     []int `json:"links"`           // indices into Torus.Links, in order
	FaultFree bool  `json:"usual,omitempty"` // path of the fault-free fabric
}

// Graph is a network of nodes and links with the loads of the links.
type Graph struct {
	Unit  string      `json:"unit"` // unit of loads, such as "messages"
	Nodes []GraphNode `json:"nodes"`
	Links []GraphLink `json:"links"`
	Pairs []string    `json:"pairs,omitempty"` // like Torus.Pairs
}

// GraphNode is a node of a Graph.
type GraphNode struct {
	Name   string `json:"name"`
	Switch bool   `json:"switch,omitempty"` // neither sends nor receives
}

// GraphLink is a directed link of a Graph.
type GraphLink struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Load  float64 `json:"load"`
	Speed float64 `json:"speed"` // rate divided by the fabric's link rate
}

// Delay is the distribution of packet delays from source to destination.
type Delay struct {
	MeanS float64    `json:"mean_s"`
	P50S  float64    `json:"p50_s"`
	P99S  float64    `json:"p99_s"`
	MaxS  float64    `json:"max_s"`
	Bins  []DelayBin `json:"bins"` // sorted
}

// DelayBin counts the packets with delays in [FromS, ToS).
type DelayBin struct {
	FromS   float64 `json:"from_s"`
	ToS     float64 `json:"to_s"`
	Packets int64   `json:"packets"`
}

// Forms of drawings of a topology. If several topologies are drawn, the largest form
// applies to all.
const (
	RowForm    = iota // one row of pods per replica; only neighbours are joined
	RingForm          // pods on an ellipse
	MatrixForm        // a matrix, for more pods
)

// Limits of the forms. With more pods, names and circuits of a drawing would overlap.
const (
	maxRowPods     = 16 // pods in a row, for RowForm
	maxRows        = 4  // rows, for RowForm
	maxRingPods    = 8  // pods on an ellipse, for RingForm
	maxRingBundles = 15 // bundles between these pods, as many as join each of six to all others
)

// Wiring is the layout of a drawn topology.
type Wiring struct {
	Form    int      `json:"form"`
	Places  [][2]int `json:"places"` // column and row, indexed by pod; one row per replica, in order of appearance
	Columns int      `json:"columns"`
	Rows    int      `json:"rows"`
}

// With returns t with other numbers of circuits, indexed by pair, and the ports that they use.
func (t *Topology) With(circuits []int) *Topology {
	out := &Topology{Pods: slices.Clone(t.Pods), Pairs: slices.Clone(t.Pairs)}
	for i := range out.Pods {
		out.Pods[i].Used = 0
	}
	for i := range out.Pairs {
		q := &out.Pairs[i]
		q.Circuits = circuits[i]
		out.Pods[q.A].Used += q.Circuits * max(1, q.Copies)
		if !q.DP && q.A != q.B {
			out.Pods[q.B].Used += q.Circuits * max(1, q.Copies)
		}
	}
	return out
}

// Wiring returns the layout of t.
func (t *Topology) Wiring() *Wiring {
	w := &Wiring{}
	row := map[int]int{} // row of each replica
	var length []int     // pods of each row
	for _, p := range t.Pods {
		r, ok := row[p.Replica]
		if !ok {
			r = len(length)
			row[p.Replica], length = r, append(length, 0)
		}
		w.Places = append(w.Places, [2]int{length[r], r})
		length[r]++
		w.Columns = max(w.Columns, length[r])
	}
	w.Rows = len(length)

	// RowForm needs few pods, and circuits only between neighbours in a row or a column, apart
	// from circuits to DP peers.
	near := w.Columns <= maxRowPods && w.Rows <= maxRows
	bundles := 0
	for _, q := range t.Pairs {
		a, b := w.Places[q.A], w.Places[q.B]
		dx, dy := a[0]-b[0], a[1]-b[1]
		if !q.DP && q.A != q.B {
			bundles++
		}
		near = near && (q.DP || q.A == q.B || dx*dx+dy*dy == 1)
	}
	switch {
	case near:
	case len(t.Pods) <= maxRingPods && bundles <= maxRingBundles:
		w.Form = RingForm
	default:
		w.Form = MatrixForm
	}
	return w
}
