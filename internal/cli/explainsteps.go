package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"sim/engine/units"
	"sim/scenarios/result"
)

// printSteps prints where the time of a plan in steps goes: to reconfigurations, to the latency of steps, and to the bytes of
// their longest messages.
func printSteps(b *strings.Builder, s *result.Schedule) {
	steps, bytes, end := 0, int64(0), 0.0
	for i := range s.Phases {
		n, m, t := s.Phases[i].Totals()
		steps, bytes, end = steps+n, bytes+m, end+t
	}
	late := float64(steps) * s.LatencyS
	d := s.Reconfigurations()
	dark := float64(d) * s.DelayS
	sent := end - late
	end = whole(end + dark)
	u := unitFor(end)
	line := func(v float64, what string) {
		share := "-"
		if end > 0 {
			share = percent(v / end)
		}
		fmt.Fprintf(b, "  %*s  %8s  %s\n", len(u.of(end)), u.of(whole(v)), share, what)
	}
	line(dark, fmt.Sprintf("%s of %s", plural(d, "reconfiguration", "reconfigurations"), seconds(s.DelayS)))
	line(late, fmt.Sprintf("latency of %s, %s each", plural(steps, "step", "steps"), seconds(s.LatencyS)))
	line(sent, fmt.Sprintf("%s bytes, the longest message of each step, at %v", count(float64(bytes)), units.Rate(s.RateBitsPerS)))

	fmt.Fprintf(b, "\n%s\n", phaseTable(s, u))
	if more := len(s.Phases) - phaseLines; more > 0 {
		fmt.Fprintf(b, "and %s\n", plural(more, "phase more", "phases more"))
	}
}

// whole rounds a time to the picosecond that the engine counts in, so that sums print as what they are sums of.
func whole(seconds float64) float64 { return math.Round(seconds*1e12) / 1e12 }

// phaseTable has a row a phase; its times add up to those of the plan.
func phaseTable(s *result.Schedule, u unit) string {
	tw := newTable(table.Row{"phase", "does", "topology", "steps", "bytes", "dark", "latency", "bytes /\nrate", "ends"})
	alignLeft(tw, 9, 2, 3)
	end, topology := 0.0, 0
	for i := range s.Phases {
		f := &s.Phases[i]
		n, bytes, t := f.Totals()
		dark := 0.0
		if !f.Reused {
			dark = s.DelayS
			topology++
		}
		end += dark + t
		if i >= phaseLines {
			continue
		}
		late := float64(n) * s.LatencyS
		tw.AppendRow(table.Row{fmt.Sprint(i + 1), f.Kind, topologyName(topology, f.Offsets), count(float64(n)), count(float64(bytes)),
			u.of(whole(dark)), u.of(whole(late)), u.of(whole(t - late)), u.of(whole(end))})
	}
	return tw.Render()
}

// topologyName is the number of a topology, with the offsets of a circulant of few.
func topologyName(number int, offsets []int) string {
	const few = 4
	name := fmt.Sprint(number)
	if len(offsets) == 0 || len(offsets) > few {
		return name
	}
	list := make([]string, len(offsets))
	for i, o := range offsets {
		list[i] = fmt.Sprintf("+%d", o)
	}
	return name + ": " + strings.Join(list, " ")
}
