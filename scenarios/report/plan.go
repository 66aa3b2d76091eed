// This file explains the plan of a collective by its phases, for explain.

package report

import (
	"fmt"
	"math"
	"strings"

	"sim/engine/units"
	"sim/internal/text"
	"sim/scenarios/result"
)

// maxPhaseRows is the number of printed phases of a plan, as many as a screen shows. Others
// are counted.
const maxPhaseRows = 24

// printSchedule prints the time of a collective's plan by phase. The time consists of
// reconfigurations and slots, or of reconfigurations and steps.
func (p *writer) printSchedule(row *result.Row, sim *result.Simulation) {
	s := sim.Schedule.Plan()
	p.paragraph("%s takes %s, by this plan: %s.", p.emphasize(sim.Policy),
		text.Seconds(sim.MakespanS), s.Origin)
	p.line("")
	if s.Steps {
		p.printStepPlan(s)
	} else {
		p.printSlotPlan(s, row != nil && row.Labels["reconfigure"] == "independent")
	}
	p.printOmitted(len(s.Phases)-maxPhaseRows, "phase more", "phases more")
}

// printSlotPlan prints a plan that consists of slots. If switches reconfigure independently of
// each other, slots and reconfigurations overlap, and only their numbers are printed.
func (p *writer) printSlotPlan(s *result.Plan, independent bool) {
	slots := s.Rounds
	if independent {
		p.line("  %s in %s, in which switches reconfigure one by one",
			text.Plural(slots, "slot"), text.Plural(len(s.Phases), "interval"))
	} else {
		// Times of reconfigurations and of slots add up to the time of the plan.
		down := float64(len(s.Phases)) * s.DelayS
		up := float64(slots) * s.SlotS
		u := text.UnitFor(down + up)
		p.printShare(u, down, down+up, text.Plural(len(s.Phases),
			"reconfiguration")+" of "+text.Seconds(s.DelayS))
		p.printShare(u, up, down+up, text.Plural(slots,
			"slot")+" of "+text.Seconds(s.SlotS))
	}

	t := text.NewTable("phase", "slots", "links", "in use")
	for i, f := range s.Phases[:min(len(s.Phases), maxPhaseRows)] {
		// The use of the links is the share of link slots that carry a chunk.
		use := "-"
		if all := f.Slots * len(f.Edges); all > 0 {
			use = text.Percent(float64(s.Parts[i].Busy) / float64(all))
		}
		t.Row(i+1, f.Slots, len(f.Edges), use)
	}

	p.table(t)
}

// printStepPlan prints a plan that consists of steps. Its time is divided into
// reconfigurations, latency of steps, and transmission of their longest messages.
func (p *writer) printStepPlan(s *result.Plan) {
	// The time is the sum of reconfigurations (down), latencies (late) and transmissions (sent).
	late := float64(s.Rounds) * s.LatencyS
	topologies := s.Reconfigurations()
	down := float64(topologies) * s.DelayS
	end := roundToPicosecond(s.EndS)
	sent := s.EndS - down - late
	u := text.UnitFor(end)
	p.printShare(u, roundToPicosecond(down), end,
		text.Plural(topologies, "reconfiguration")+" of "+text.Seconds(s.DelayS))
	p.printShare(u, roundToPicosecond(late), end,
		fmt.Sprintf("latency of %s, %s each", text.Plural(s.Rounds, "step"),
			text.Seconds(s.LatencyS)))
	p.printShare(u, roundToPicosecond(sent), end,
		fmt.Sprintf("%s bytes, the longest message of each step, at %v",
			text.Count(s.Bytes), units.Rate(s.RateBitsPerS)))

	t := text.NewTable("phase", "does", "topology", "steps", "bytes",
		"recon-\nfiguring", "latency", "bytes /\nrate", "ends").Left(1, 2).In(u)

	// Print one row per phase. end is the end of the current phase from here on.
	end = 0
	for i := range s.Phases[:min(len(s.Phases), maxPhaseRows)] {
		f := &s.Phases[i]
		// A phase that reuses the previous topology has no reconfiguration.
		n, bytes, took := f.Totals()
		down := 0.0
		if !f.Reused {
			down = s.DelayS
		}
		end += down + took
		late := float64(n) * s.LatencyS
		t.Row(i+1, f.Kind, topologyName(s.Parts[i].Topology+1, f.Offsets), n, bytes,
			roundToPicosecond(down), roundToPicosecond(late),
			roundToPicosecond(took-late), roundToPicosecond(end))
	}

	p.table(t)
}

// roundToPicosecond rounds a time to the engine's resolution, so that printed sums match
// their parts.
func roundToPicosecond(seconds float64) float64 {
	return math.Round(seconds*1e12) / 1e12
}

// topologyName returns the number of a topology and, for a circulant, its offsets if they
// are few.
func topologyName(number int, offsets []int) string {
	const maxOffsets = 4 // more would widen the column too much
	name := fmt.Sprint(number)
	if len(offsets) == 0 || len(offsets) > maxOffsets {
		return name
	}
	// Offsets are listed with their sign.
	list := make([]string, len(offsets))
	for i, o := range offsets {
		list[i] = fmt.Sprintf("+%d", o)
	}
	return name + ": " + strings.Join(list, " ")
}
