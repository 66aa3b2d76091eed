// This file explains the time of a policy by its critical path.

package report

import (
	"fmt"
	"path/filepath"
	"slices"

	"sim/internal/text"
	"sim/scenarios/result"
)

// Explain explains the makespan of the simulation sim of run, and compares the times of all
// policies of the run. style is the layout.
func Explain(run *result.Run, sim *result.Simulation, style text.Style) string {
	p := &writer{style: style}
	p.title(run.Document.Scenario, run.Detail.Title)
	p.explain(run, sim)
	p.printOmittedData(run)
	return p.String()
}

// showsCircuits reports whether a simulation or one of its jobs has circuits between
// pods.
func showsCircuits(sim *result.Simulation) bool {
	return sim.Topology != nil || slices.ContainsFunc(sim.Jobs,
		func(job result.Simulation) bool {
			return job.Topology != nil
		})
}

// explain prints the explanation that fits the kind of the simulation: a critical path, a plan,
// the loads of links, several jobs, or a fleet.
func (p *writer) explain(run *result.Run, sim *result.Simulation) {
	// span is the name of the explained time.
	p.span = "iteration"
	row := run.Document.Row(sim.Policy)
	switch {
	case row != nil && row.Labels["unserved"] != "":
		p.paragraph("%s cannot serve: %s.", sim.Policy, row.Labels["unserved"])
	case len(sim.Path) > 0:
		// The span and the calls of inner tiers are known from the row.
		if row != nil {
			if end, ok := row.End(); ok {
				p.span = end.Span
			}
			p.hasInnerCalls = row.Labels["tier_calls"] != ""
		}

		p.explainPath(sim, &run.Detail.Reference)
		sims := completedSimulations(run, &run.Detail.Reference,
			func(q *result.Simulation) *result.Simulation {
				return q
			})

		p.comparePaths(sim, sims)
		p.printTiers(row)
		p.listFailedPolicies(&run.Document)

	case sim.Schedule != nil:
		p.printSchedule(row, sim)
	case sim.Traffic != nil && row != nil:
		p.printTraffic(run, row, sim.Traffic)
		p.printTiers(row)
	case len(sim.Jobs) > 0:
		p.printJobs(run, row, sim)
	case sim.Fleet != nil && row != nil:
		p.printFleet(run, row)
	default:
		if row != nil {
			// Level static has loads without times.
			if row.Metrics[result.MaxCircuitTime] > 0 {
				p.circuitLoads(row)
				break
			}
		}
		p.paragraph("%s takes %s%s", sim.Policy, text.Seconds(sim.MakespanS),
			reasonNotExplained(run, row))
	}

	if showsCircuits(sim) {
		p.indented("%s", matchingNote)
	}
}

// circuitLoads prints the loads of circuits at level static, without a simulation over time.
func (p *writer) circuitLoads(row *result.Row) {
	m := row.Metrics
	longest := m[result.MaxCircuitTime]
	fluid := m[result.FluidTime]
	line := fmt.Sprintf("%s was not simulated over time: level static finds "+
		"circuits and what they carry. The most loaded circuit needs %s for it, "+
		"and carries up to %s B; on average a circuit carries %s B.",
		p.emphasize(row.Policy), text.Seconds(longest),
		text.Thousands(m[result.MaxCircuitBytes]),
		text.Thousands(m[result.MeanCircuitBytes]))

	// Compare the load with the bound for all topologies that the ports allow.
	switch gap := m[result.GapToBound]; {
	case gap <= provedGap:
		line += " No circuits that the ports allow do with less."
	default:
		line += fmt.Sprintf(" That is %s above what others, which the ports allow, need: %s.", text.Percent(gap), text.Seconds(m[result.BoundPrefix+result.MaxCircuitTime]))
	}

	// Links inside pods can take longer than circuits.
	if fluid > longest {
		line += fmt.Sprintf(" Links of GPUs need %s, whatever circuits there are.",
			text.Seconds(fluid))
	}
	p.paragraph("%s", line)
}

// reasonNotExplained states why a run has no explanation, as the end of a sentence.
func reasonNotExplained(run *result.Run, row *result.Row) string {
	if row != nil {
		// Rows with an objective or link loads have explanations in newer versions.
		_, jobs := row.Metrics[result.Objective]
		if _, links := row.LinkLoads(); jobs || links {
			return ". This run is of a version that did not keep what explains " +
				"that: run it again with sim run " +
				filepath.Join(run.Dir, result.ScenarioFile) + "."
		}
	}

	return "; its run holds neither a critical path nor a plan, so there is nothing to explain."
}

// explainPath explains a simulation by its critical path: the parts of its time, the steps, the
// links, the moves of circuits, and the comparison with the ideal fabric. ideal may be nil.
func (p *writer) explainPath(sim, ideal *result.Simulation) {
	// The time refers to an iteration, or to the completion of the work.
	each := " an iteration"
	if p.span != "iteration" {
		each = ""
	}
	p.line("%s takes %s%s. A chain of %s sets that time:\n", p.emphasize(sim.Policy),
		text.Seconds(sim.MakespanS), each, text.Plural(len(sim.Path), "task"))

	u := text.UnitFor(sim.MakespanS)
	for i, v := range shareParts(u, sim) {
		// The waiting time is printed only if there is any.
		if i < waitPart || v != 0 {
			what := shareLabels[i]
			if i == computePart && p.hasInnerCalls {
				what = "compute and calls of inner tiers"
			}
			p.printShare(u, v, sim.MakespanS, what)
		}
	}

	p.printSteps(sim)
	p.printLinks(sim)
	p.printMoves(sim)
	canImprove := true
	if ideal != nil && ideal.MakespanS > 0 {
		canImprove = p.compareIdeal(sim, ideal)
	}
	if canImprove {
		p.adviseCircuits(sim)
	}
}

// Indices of the parts of a critical path, in shareLabels and in the result of shareParts.
const (
	computePart = iota
	fullRatePart
	circuitPart
	sharingPart
	waitPart
)

// shareLabels are the names of the parts of a critical path.
var shareLabels = [...]string{
	computePart:  "compute inside pods",
	fullRatePart: "transfers, at the full rate of their NICs",
	circuitPart:  "more, because there are fewer circuits than flows",
	sharingPart:  "more, because others use the same circuits or NICs",
	waitPart:     "with no task of the chain at work",
}

// shareParts returns the parts of a critical path in the unit u, rounded so that they add up.
// The last one, waiting, is often 0.
func shareParts(u text.Unit, sim *result.Simulation) []float64 {
	s := sim.Shares()
	return u.AddUp(s.ComputeS, s.FullRateS, s.CircuitS, s.SharingS, s.WaitS)
}

// maxStepRows is the number of printed steps: enough for a pipeline to fill and drain.
const maxStepRows = 30

// linkWidth is the width of the link column, enough for two short names of pods; longer
// ones are wrapped. The task column gets the rest of the line.
const linkWidth = 17

// printSteps prints the critical path. Consecutive steps over one bundle of circuits share a
// line. The middle of a long path is omitted.
func (p *writer) printSteps(sim *result.Simulation) {
	steps := mergeSteps(sim)
	u := text.UnitFor(sim.MakespanS)
	// The task column gets the width that the other columns leave: the link, the number of
	// tasks, and four times. It is never too narrow for a name.
	const gap, minWidth = 2, 12
	times := 4 * (max(len(u.Of(sim.MakespanS)), len("compute")) + gap)
	width := max(p.style.TableWidth()-(linkWidth+gap)-(len("tasks")+gap)-times-gap, minWidth)
	t := text.NewTable("the chain, in order of time", "link", "tasks", "until",
		"compute\nbefore", "at full\nrate", "lost").Left(0, 1).In(u)

	for i, s := range steps {
		// The middle of a long path is left out.
		if left := len(steps) - maxStepRows; left > 0 && i >= maxStepRows/2 &&
			i < len(steps)-maxStepRows/2 {
			if i == maxStepRows/2 {
				t.Row(fmt.Sprintf("... and %s more", text.Plural(left, "line")))
			}
			continue
		}

		// A group has the name of its first step.
		name := s.name
		if s.tasks > 1 {
			name += " ..."
		}
		t.Row(p.wrapCell(name, width), p.wrapCell(s.link, linkWidth), s.tasks, s.endS,
			s.ComputeS, s.FullRateS, s.LostS())
	}

	p.table(t)
}

// stepGroup is a group of consecutive steps of a path over the same bundle of circuits.
type stepGroup struct {
	// name of the first step.
	name string
	// link is the link or bundle; "" for compute.
	link  string
	tasks int // number of steps
	// endS is the end of the last step in seconds.
	endS float64
	// Parts of the time, summed over the steps.
	result.Shares
}

// mergeSteps merges consecutive steps over the same bundle, in either direction.
func mergeSteps(sim *result.Simulation) []stepGroup {
	var out []stepGroup
	last := ""
	for i := range sim.Path {
		t := &sim.Path[i]

		// Both directions of a bundle count as one link.
		link := t.Link
		if pair := sim.Topology.FindPair(link); pair != nil && !pair.DP {
			link = sim.Topology.Pods[pair.A].Name + " - " +
				sim.Topology.Pods[pair.B].Name
		}

		// Start a new group if the link or the kind of task changes.
		if key := fmt.Sprint(t.Transfer(), link); len(out) == 0 || key != last {
			out = append(out, stepGroup{name: t.Name, link: link})
			last = key
		}

		// Add the step to the last group.
		s := &out[len(out)-1]
		s.tasks++
		s.endS = t.EndS
		s.Add(t)
	}
	return out
}

// maxLinkRows is the number of printed links, the longest times first. A screen shows
// them all.
const maxLinkRows = 20

// printLinks prints the time of the path on each link, the longest first. It prints nothing for
// a path without transfers.
func (p *writer) printLinks(sim *result.Simulation) {
	links := sim.ByLink()
	if len(links) == 0 {
		return
	}
	t := text.NewTable("link", "circuits", "transfers", "at full\nrate",
		"lost to few\ncircuits", "lost to\nsharing",
		"share of the\n"+p.span).In(text.UnitFor(sim.MakespanS))

	for _, l := range links[:min(len(links), maxLinkRows)] {
		// Links without a bundle have no circuits.
		circuits := "-"
		if pair := sim.Topology.FindPair(l.Link); pair != nil {
			circuits = fmt.Sprint(pair.Circuits)
		}
		t.Row(linkName(l.Link), circuits, l.Transfers, l.FullRateS, l.CircuitS,
			l.SharingS, text.Percent((l.FullRateS+l.LostS())/sim.MakespanS))
	}

	if left := len(links) - maxLinkRows; left > 0 {
		t.Row(fmt.Sprintf("... and %s more", text.Plural(left, "link")))
	}
	p.table(t)
}

// linkName returns the name of a link for tables.
func linkName(link string) string {
	if link == "" {
		return "(unnamed)"
	}
	return link
}
