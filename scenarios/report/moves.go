// This file prints the circuits that move during an iteration, for explainPath.

package report

import (
	"fmt"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// printMoves prints the moves of circuits during an iteration, and the time that they save
// compared with the best fixed circuits.
func (p *writer) printMoves(sim *result.Simulation) {
	if len(sim.Moves) == 0 {
		return
	}
	u := text.UnitFor(sim.MakespanS)
	t := text.NewTable("circuits that move", "at", "carry\nfrom", "circuits").Left(0,
		3).In(u)

	for _, m := range sim.Moves {
		var what []string
		for _, c := range m.Circuits {
			// Name the bundle by its pods.
			name := sim.Topology.Pods[c.A].Name + " to DP peer"
			if !c.DP {
				name = sim.Topology.Pods[c.A].Name + " - " +
					sim.Topology.Pods[c.B].Name
			}
			what = append(what, fmt.Sprintf("%s: %d to %d", name, c.From, c.To))
		}

		const eventWidth = 30 // leaves space for two times and the circuits
		t.Row(p.wrapCell(m.Event, eventWidth), m.AtS, m.UpS, strings.Join(what, "\n"))
	}

	p.table(t)
	// Moves are used even if they cost time, because the policy was requested.
	effect := "saves"
	change := sim.UnchangedS - sim.MakespanS
	if change < 0 {
		effect, change = "costs", -change
	}
	p.indented("What is released stops at once, what is set up carries from the "+
		"time told, and all else goes on. With the best circuits that stay the "+
		"iteration takes %s: moving them %s %s.",
		u.Of(sim.UnchangedS), effect, u.Of(change))
}
