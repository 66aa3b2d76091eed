package cli

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"sim/scenarios/result"
)

// chainLines is how much of a chain is printed: enough for a pipeline to fill
// and drain.
const chainLines = 30

// printChain prints the critical path, to and fro over one bundle of circuits
// as one line.
func printChain(b *strings.Builder, p *result.Play) {
	steps := condense(p)
	tw := newTable(table.Row{"the chain, in order of time", "link", "tasks", "until", "compute\nbefore", "at full\nrate", "lost"})
	alignLeft(tw, 7, 1, 2)
	u := unitFor(p.MakespanS)
	figures := max(len(u.of(p.MakespanS)), len("compute")) + 2
	nameWidth := max(tableWidth-(chainLink+2)-(len("tasks")+2)-4*figures-2, 12)
	for i, s := range steps {
		if left := len(steps) - chainLines; left > 0 && i >= chainLines/2 && i < len(steps)-chainLines/2 {
			if i == chainLines/2 {
				tw.AppendRow(table.Row{fmt.Sprintf("... and %s more", plural(left, "line", "lines"))})
			}
			continue
		}
		name := s.name
		if s.tasks > 1 {
			name += " ..."
		}
		tw.AppendRow(table.Row{wrap(name, nameWidth), wrap(s.link, chainLink), count(float64(s.tasks)),
			u.of(s.endS), u.of(s.ComputeS), u.of(s.FullRateS), u.of(s.LostS())})
	}
	fmt.Fprintf(b, "\n%s\n", tw.Render())
}

// chainLink is the width at which names of links wrap; the tasks' get what is left.
const chainLink = 17

// chainStep is a run of steps of a path over the same bundle of circuits.
type chainStep struct {
	name  string // of the first
	link  string
	tasks int
	endS  float64
	result.Shares
}

// condense joins the steps of p's path that follow one another over the same
// bundle, in whichever direction.
func condense(p *result.Play) []chainStep {
	var out []chainStep
	last := ""
	for i := range p.Path {
		t := &p.Path[i]
		link := t.Link
		if pair := p.Topology.FindPair(link); pair != nil && !pair.Twin {
			link = p.Topology.Pods[pair.A].Name + " - " + p.Topology.Pods[pair.B].Name
		}
		if key := fmt.Sprint(t.Transfer(), link); len(out) == 0 || key != last {
			out = append(out, chainStep{name: t.Name, link: link})
			last = key
		}
		s := &out[len(out)-1]
		s.tasks++
		s.endS = t.EndS
		s.Add(t)
	}
	return out
}
