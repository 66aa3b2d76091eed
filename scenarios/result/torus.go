package result

// Torus is a torus or mesh, and what each of its links carries.
type Torus struct {
	Dims  []int       `json:"dims"`
	Unit  string      `json:"unit"` // of loads: "messages"
	Links []TorusLink `json:"links"`
	// Routes are routes worth showing, such as those round a fault.
	Routes []TorusRoute `json:"ways,omitempty"`
	// Pairs are the routes of each node to every node in order, separated by spaces: a character a hop, '0' for the
	// first of Links that leaves the node, '1' for the second and so on. Of routes that a pair shares its messages
	// among it is the one with most. Empty where they are too many.
	Pairs []string `json:"pairs,omitempty"`
}

// TorusLink is a directed link. Nodes are numbered with the last dimension fastest.
type TorusLink struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Dim   int     `json:"dim"`
	Up    bool    `json:"up,omitempty"`
	Wrap  bool    `json:"wrap,omitempty"`  // goes round the torus
	State string  `json:"state,omitempty"` // "down", "drained"; "" is up
	Load  float64 `json:"load"`
}

// TorusRoute is the route of a pair of nodes.
type TorusRoute struct {
	Src       int   `json:"src"`
	Dst       int   `json:"dst"`
	Links     []int `json:"links"`           // indices into Links, in order
	FaultFree bool  `json:"usual,omitempty"` // the one that is taken where nothing is down
}

// Graph is nodes joined by any links, and what each of these carries.
type Graph struct {
	Unit  string      `json:"unit"` // of loads: "messages"
	Nodes []GraphNode `json:"nodes"`
	Links []GraphLink `json:"links"`
	Pairs []string    `json:"pairs,omitempty"` // as of a Torus
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
	Speed float64 `json:"speed"` // its rate over the fabric's
}

// Delay is how long packets took from source to destination.
type Delay struct {
	MeanS float64    `json:"mean_s"`
	P50S  float64    `json:"p50_s"`
	P99S  float64    `json:"p99_s"`
	MaxS  float64    `json:"max_s"`
	Bins  []DelayBin `json:"bins"` // ordered
}

// DelayBin counts packets with delays in [FromS, ToS).
type DelayBin struct {
	FromS   float64 `json:"from_s"`
	ToS     float64 `json:"to_s"`
	Packets int64   `json:"packets"`
}

// Forms in which a topology is drawn, of several the later serves for all.
const (
	RowForm    = iota // a row of pods for each replica, in which only neighbours are joined
	RingForm          // pods on an ellipse
	MatrixForm        // too many pods for lines
)

// Limits of the forms.
const (
	maxRowPods  = 10
	maxRows     = 4
	maxRingPods = 16
)

// Wiring is how a topology is laid out.
type Wiring struct {
	Form    int      `json:"form"`
	Places  [][2]int `json:"places"` // column and row of each pod, a row for each replica in order of appearance
	Columns int      `json:"columns"`
	Rows    int      `json:"rows"`
}

// Wiring lays a topology out.
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
