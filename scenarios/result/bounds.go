// This file shares proved bounds between the rows of a result: a bound that one policy
// proves may tighten the gap of another.

package result

import "maps"

// ProvedBound is a lower bound on a metric that holds for every decision. It therefore
// applies to rows of other policies of the same scenario.
type ProvedBound struct {
	Metric string  `json:"metric"`
	Bound  float64 `json:"bound"`
	Model  string  `json:"model"` // description of the decisions for which it holds
	// MultiPath reports whether the bound also holds if the traffic of a pair of nodes is
	// split over several paths.
	MultiPath bool `json:"split,omitempty"`
}

// Bounds are the bounds that a row proves, and the requirements on bounds proved by other
// rows.
type Bounds struct {
	GapMetric string        `json:"of"`              // metric to which the row's gap refers
	MultiPath bool          `json:"split,omitempty"` // only bounds with MultiPath hold for the row
	Proofs    []ProvedBound `json:"proofs,omitempty"`
}

// boundTie is the relative difference below which bounds are equal; it exceeds rounding
// errors.
const boundTie = 1e-9

// ShareBounds replaces the bounds of rows of one scenario by the best applicable bound
// that any of the rows proves. It sets the metrics "bound_" plus the metric's name and,
// for the metric of the gap, the gap and the label gap_model. Maps are copied before they
// change.
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

// improveBound applies a bound to a row if it holds for the row and is larger than the
// row's own.
func (r *Row) improveBound(p ProvedBound) {
	// Only a row that has a bound on the metric already gets a better one.
	name := "bound_" + p.Metric
	best, bounded := r.Metrics[name]
	if !bounded || r.Bounds.MultiPath && !p.MultiPath || p.Bound <= best*(1+boundTie) {
		return
	}
	r.Metrics[name] = p.Bound

	// The gap refers to one metric. It is 0 if the value is below the bound by rounding only.
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
