package result

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
