package result

import "maps"

// ProvedBound is a lower bound on a metric that holds for whatever a policy may choose, so that it serves rows of other
// policies of the same scenario, too.
type ProvedBound struct {
	Metric string  `json:"metric"`
	Bound  float64 `json:"bound"`
	Model  string  `json:"model"` // what it holds for, in words
	// MultiPath says that it holds as well where what goes from one node to another takes several routes.
	MultiPath bool `json:"split,omitempty"`
}

// Bounds is what a row has to do with lower bounds: its own, and those of other rows.
type Bounds struct {
	GapMetric string        `json:"of"`              // the metric that gap is of
	MultiPath bool          `json:"split,omitempty"` // only proofs that hold for several routes hold for the row
	Proofs    []ProvedBound `json:"proofs,omitempty"`
}

// boundTie is the relative difference below which bounds count as equal: what rounding leaves of one.
const boundTie = 1e-9

// ShareBounds gives rows of one scenario the best bounds that any of them proves and that hold for them, in place of
// lesser ones: metrics "bound_" and the metric's name, and of the one that gap is of, gap and the label gap_model. Maps
// that it changes are copied first.
func ShareBounds(rows []Row) {
	var all []ProvedBound
	for i := range rows {
		if b := rows[i].Bounds; b != nil {
			all = append(all, b.Proofs...)
		}
	}
	for i := range rows {
		if rows[i].Bounds != nil {
			rows[i].Metrics, rows[i].Labels = maps.Clone(rows[i].Metrics), maps.Clone(rows[i].Labels)
			for _, p := range all {
				rows[i].improveBound(p)
			}
		}
	}
}

// improveBound gives a row a bound if it holds for the row, and says more than the row's own.
func (r *Row) improveBound(p ProvedBound) {
	name := "bound_" + p.Metric
	best, bounded := r.Metrics[name]
	if !bounded || r.Bounds.MultiPath && !p.MultiPath || p.Bound <= best*(1+boundTie) {
		return
	}
	r.Metrics[name] = p.Bound
	value, ok := r.Metrics[p.Metric]
	if p.Metric != r.Bounds.GapMetric || !ok {
		return
	}
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	r.Labels["gap_model"] = p.Model
	if r.Metrics[GapToBound] = value/p.Bound - 1; value < p.Bound && value >= p.Bound*(1-boundTie) {
		r.Metrics[GapToBound] = 0
	}
}
