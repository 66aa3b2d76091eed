// This file states how far a simulation with engine.tolerance is from an exact one.

package composition

import (
	"fmt"

	"sim/engine"
	"sim/internal/text"
	"sim/scenarios/result"
)

// addPerturbation adds the metrics of a perturbation. It does nothing if p is nil.
func addPerturbation(m map[string]float64, p *engine.Perturbation) {
	if p == nil {
		return
	}
	m["tolerance_delay_s"], m["tolerance_bytes"], m["tolerance_load"] = p.Delay.Seconds(), p.Bytes, p.Load
}

// AddPerturbation adds the metrics of a perturbation to a row, and a label that explains it. It does
// nothing if p is nil.
func AddPerturbation(row *result.Row, p *engine.Perturbation) {
	if p == nil {
		return
	}
	addPerturbation(row.Metrics, p)
	row.Labels["tolerance"] = fmt.Sprintf("rates are computed at least %s apart; the run is exact for transfers that "+
		"start up to %s later and hold their rate for up to %.0f B after their end, %s of the load of a link",
		text.Seconds(p.Tolerance.Seconds()), text.Seconds(p.Delay.Seconds()), p.Bytes, text.Percent(p.Load))
}

// DescribePerturbation returns the detail of a perturbation, nil if p is nil.
func DescribePerturbation(p *engine.Perturbation) *result.Perturbation {
	if p == nil {
		return nil
	}
	return &result.Perturbation{
		ToleranceS: p.Tolerance.Seconds(), DelayS: p.Delay.Seconds(), Bytes: p.Bytes, Load: p.Load,
	}
}
