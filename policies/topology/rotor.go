package topology

import (
	"fmt"

	"sim/engine"
)

// RotorOptions holds the options of rotor.
type RotorOptions struct {
	Period   engine.Time `key:"period" doc:"time for which a switch keeps a matching of pods, including the change to it; 0s means ten times fabric.reconfiguration_delay, at least 10ms" default:"0s"`
	Switches int         `key:"switches" doc:"number of switches among which a pod's ports are divided and which change in turn; fewer if ports do not suffice for a circuit to each" default:"4" min:"1" max:"1024"`
}

const (
	delaysPerPeriod  = 10                      // default period, in reconfiguration delays
	minDefaultPeriod = 10 * engine.Millisecond // minimum default period
	maxRotorSteps    = 1 << 16                 // maximum number of steps per iteration
)

// period returns the time for which a switch keeps a matching, given the reconfiguration
// delay.
func (o *RotorOptions) period(delay engine.Time) engine.Time {
	if o.Period > 0 {
		return o.Period
	}
	return max(delaysPerPeriod*delay, minDefaultPeriod)
}

// Carries reports whether circuits carry data at all before the next change stops them.
func (o *RotorOptions) Carries(s SwitchTiming) bool {
	period := o.period(s.Delay)
	if s.StopsAll {
		period /= engine.Time(max(1, o.Switches))
	}
	return period > s.Delay
}

// rotor is the rule of rotor, a fixed rotation of matchings (RotorNet, SIGCOMM 2017;
// Opera, NSDI 2020). The pod pairs with traffic are divided into matchings. Each switch
// connects the pairs of one matching for a period, then the pairs of the next matching.
// The switches change one after the other, so that some circuits are always up. Transfers
// wait for circuits of their pair. The rotation restarts with every iteration, which
// favours the policy.
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

	// Extend the rotation until it covers the longest iteration.
	period := m.o.Rotor.period(m.simulator.Delay)
	for horizon := 2 * m.static.Makespan; ; horizon *= 2 {
		q := &Sequence{First: topologies[0]}
		for k := 1; ; k++ {
			time := period / engine.Time(switches) * engine.Time(k)
			if time > horizon {
				break
			}
			if k > maxRotorSteps {
				return nil, fmt.Errorf("topology: rotor: more than %d changes in an iteration; lengthen policy.rotor.period", maxRotorSteps)
			}
			q.Steps = append(q.Steps, Step{Bundle: AtTime, Time: time,
				Circuits: topologies[k%len(topologies)]})
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

// matchings colours the bundles greedily so that bundles of one colour share no pod. It
// returns the colour of each bundle and the number of colours.
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

// rotorTopologies returns the cycle of topologies. matching is the matching of each bundle, and
// matchings their number. Before topology 0, switch s has matching s. From each topology to the
// next one, one switch moves to its next matching: switch k mod switches before topology k+1.
func (m *ruleInput) rotorTopologies(matching []int, matchings, switches int) [][]int {
	all := make([][]int, matchings*switches)
	for k := range all {
		x := make([]int, len(m.maxCircuits))
		for s := range switches {
			// Switch s has moved (k+switches-1-s)/switches times before topology k.
			turn := (s + (k+switches-1-s)/switches) % matchings
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
