package result

import "maps"

// Proof is a lower bound on a metric that holds for whatever a policy may choose, so
// that it serves rows of other policies of the same scenario, too.
type Proof struct {
	Metric string  `json:"metric"`
	Bound  float64 `json:"bound"`
	Model  string  `json:"model"` // what it holds for, in words
	// Split says that it holds as well where what goes from one node to another takes
	// several routes.
	Split bool `json:"split,omitempty"`
}

// Bounds is what a row has to do with lower bounds: its own, and those of other rows.
type Bounds struct {
	Of     string  `json:"of"`              // the metric that gap is of
	Split  bool    `json:"split,omitempty"` // only proofs that hold for several routes hold for the row
	Proofs []Proof `json:"proofs,omitempty"`
}

// boundTie is the relative difference below which bounds count as equal: what rounding
// leaves of one.
const boundTie = 1e-9

// ShareBounds gives rows of one scenario the best bound on what gap is of that any of
// them proves and that holds for them: metric "bound_" and the metric's name, gap, and
// the label gap_model. Maps that it changes are copied first.
func ShareBounds(rows []Row) {
	var all []Proof
	for i := range rows {
		if b := rows[i].Bounds; b != nil {
			all = append(all, b.Proofs...)
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.Bounds == nil {
			continue
		}
		name := "bound_" + r.Bounds.Of
		value, ok := r.Metrics[r.Bounds.Of]
		least, model := r.Metrics[name], ""
		for _, p := range all {
			if p.Metric == r.Bounds.Of && (p.Split || !r.Bounds.Split) && p.Bound > least*(1+boundTie) {
				least, model = p.Bound, p.Model
			}
		}
		if !ok || model == "" {
			continue
		}
		r.Metrics, r.Labels = maps.Clone(r.Metrics), maps.Clone(r.Labels)
		if r.Labels == nil {
			r.Labels = map[string]string{}
		}
		r.Metrics[name], r.Labels["gap_model"] = least, model
		if r.Metrics["gap"] = value/least - 1; value < least && value >= least*(1-boundTie) {
			r.Metrics["gap"] = 0
		}
	}
}
