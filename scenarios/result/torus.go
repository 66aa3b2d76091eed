package result

// Torus is a torus or mesh with the loads of its links.
type Torus struct {
	Dims  []int       `json:"dims"`
	Unit  string      `json:"unit"` // unit of loads, such as "messages"
	Links []TorusLink `json:"links"`
	// Routes are selected paths, such as detours around a fault.
	Routes []TorusRoute `json:"ways,omitempty"`
	// Pairs has the paths from each node to all nodes, separated by spaces. A path has
	// one character per hop: '0' for the first of Links that leaves the node, '1' for the
	// second and so on. If messages of a pair are split, it is the path with most of
	// them. It is empty if the paths are too many.
	Pairs []string `json:"pairs,omitempty"`
}

// TorusLink is a directed link. Node numbers increase fastest along the last dimension.
type TorusLink struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Dim   int     `json:"dim"`
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

// Limits of the forms: pods per row, rows, and pods on an ellipse.
const (
	maxRowPods  = 10
	maxRows     = 4
	maxRingPods = 16
)

// Wiring is the layout of a drawn topology.
type Wiring struct {
	Form    int      `json:"form"`
	Places  [][2]int `json:"places"` // column and row, indexed by pod; one row per replica, in order of appearance
	Columns int      `json:"columns"`
	Rows    int      `json:"rows"`
}

// Wiring returns the layout of t.
func (t *Topology) Wiring() *Wiring {
	w := &Wiring{}
	row := map[int]int{}
	var length []int
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
	near := w.Columns <= maxRowPods && w.Rows <= maxRows
	for _, q := range t.Pairs {
		a, b := w.Places[q.A], w.Places[q.B]
		dx, dy := a[0]-b[0], a[1]-b[1]
		near = near && (q.DP || q.A == q.B || dx*dx+dy*dy == 1)
	}
	switch {
	case near:
	case len(t.Pods) <= maxRingPods:
		w.Form = RingForm
	default:
		w.Form = MatrixForm
	}
	return w
}
