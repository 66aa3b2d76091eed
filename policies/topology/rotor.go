package topology

import (
	"fmt"

	"sim/engine"
)

// RotorOptions are the options of rotor.
type RotorOptions struct {
	Period   engine.Time `key:"period" doc:"time for which a switch keeps a matching of pods, including the change to it; 0s means ten times fabric.reconfiguration_delay, at least 10ms" default:"0s"`
	Switches int         `key:"switches" doc:"number of switches among which a pod's ports are divided and which change in turn; fewer if ports do not suffice for a circuit to each" default:"4" min:"1" max:"1024"`
}

const (
	delaysPerPeriod  = 10 // a period is so many delays
	minDefaultPeriod = 10 * engine.Millisecond
	maxRotorSteps    = 1 << 16 // of an iteration, at most
)

// period returns how long a switch keeps a matching at a delay.
func (o *RotorOptions) period(delay engine.Time) engine.Time {
	if o.Period > 0 {
		return o.Period
	}
	return max(delaysPerPeriod*delay, minDefaultPeriod)
}

// Carries reports whether circuits carry anything before they move on, or are held again.
func (o *RotorOptions) Carries(s Switching) bool {
	period := o.period(s.Delay)
	if s.Whole {
		period /= engine.Time(max(1, o.Switches))
	}
	return period > s.Delay
}

// rotor rotates matchings of pods without a look at the traffic, but for which pairs have any: each switch joins the
// pairs of one matching for a period and then those of the next, the switches one after the other so that some circuits
// are always up (RotorNet, SIGCOMM 2017; Opera, NSDI 2020). Transfers wait for circuits of their pair. The rotation begins anew
// with every iteration, at its best for it.
func rotor(m *ruleInput) (*Sequence, error) {
	matching, matchings := m.matchings()
	switches := max(1, m.o.Rotor.Switches)
	for e, b := range m.p.Fabric.Bundles {
		for _, pod := range m.p.endPods[e] {
			switches = min(switches, m.p.Ports[pod]/b.Ends)
		}
	}
	topologies := m.rotorTopologies(matching, matchings, switches)
	if matchings == 1 {
		return &Sequence{First: topologies[0]}, nil
	}
	period := m.o.Rotor.period(m.simulator.Delay)
	for horizon := 2 * m.static.Makespan; ; horizon *= 2 {
		q := &Sequence{First: topologies[0]}
		for k := 1; ; k++ {
			at := period / engine.Time(switches) * engine.Time(k)
			if at > horizon {
				break
			}
			if k > maxRotorSteps {
				return nil, fmt.Errorf("topology: rotor: more than %d changes in an iteration; lengthen policy.rotor.period", maxRotorSteps)
			}
			q.Steps = append(q.Steps, Step{Bundle: AtTime, Time: at, Circuits: topologies[k%len(topologies)]})
		}
		q.Steps = append(q.Steps, Step{Bundle: AtEnd, Circuits: q.First})
		it, ok := m.simulate(q)
		if ok {
			longest := engine.Time(0)
			for _, run := range it.runs {
				longest = max(longest, run.Makespan)
			}
			if longest <= horizon {
				return q, nil
			}
		}
		if err := m.ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// matchings colours the bundles such that no two of one colour meet at a pod.
func (m *ruleInput) matchings() (colour []int, colours int) {
	taken := make([]map[int]bool, len(m.p.Ports))
	for i := range taken {
		taken[i] = map[int]bool{}
	}
	colour = make([]int, len(m.maxCircuits))
	for e, ends := range m.p.endPods {
		for taken[ends[0]][colour[e]] || taken[ends[1]][colour[e]] {
			colour[e]++
		}
		taken[ends[0]][colour[e]], taken[ends[1]][colour[e]] = true, true
		colours = max(colours, colour[e]+1)
	}
	return colour, colours
}

// rotorTopologies returns the topologies that follow each other, each one switch further, until all is as it was.
func (m *ruleInput) rotorTopologies(matching []int, matchings, switches int) [][]int {
	all := make([][]int, matchings*switches)
	for k := range all {
		x := make([]int, len(m.maxCircuits))
		for s := range switches {
			turn := (s + (k+switches-1-s)/switches) % matchings // switch s has changed so often, and began at matching s
			for e, b := range m.p.Fabric.Bundles {
				if matching[e] != turn {
					continue
				}
				n := m.maxCircuits[e] - x[e]
				for _, pod := range m.p.endPods[e] {
					ports := m.p.Ports[pod] / switches
					if s < m.p.Ports[pod]%switches {
						ports++
					}
					n = min(n, ports/b.Ends)
				}
				x[e] += n
			}
		}
		all[k] = x
	}
	return all
}
