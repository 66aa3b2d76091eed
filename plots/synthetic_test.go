package plots

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"sim/scenarios/result"
)

// runShape holds the parameters of a synthetic run.
type runShape struct {
	stages, perPod, micro int
	forward, transfer     float64 // duration of a forward pass and of a transfer in seconds
	sync                  float64 // bits that each stage synchronises
	nic, circuit          float64 // bits per second of the NICs of a stage and of a port
	replicas              int
	policies              []string
}

// small is like Fig. 1, large like the largest preset, narrow like its DP.
var (
	small = runShape{stages: 4, perPod: 1, micro: 8, forward: 0.010, transfer: 0.002, sync: 2.2e10, nic: 8e11, circuit: 4e11,
		replicas: 2, policies: []string{"first", "second"}}
	large = runShape{stages: 16, perPod: 4, micro: 128, forward: 0.0457, transfer: 0.0021, sync: 4.5e11, nic: 1.6e12, circuit: 4e11,
		replicas: 8, policies: []string{"prop", "sqrt", "halve", "fast", "topo", "joint"}}
)

// synthetic returns a complete run with a 1F1B pipeline on pods and two methods to share
// bandwidth.
func synthetic(s runShape) (*result.Document, *result.Detail) {
	doc := &result.Document{Scenario: "synthetic", Reference: map[string]float64{}}
	d := &result.Detail{Title: fmt.Sprintf("A synthetic model on %d stages in %d pods: %d micro-batches, 1F1B; 400 Gb/s a port",
		s.stages, s.pods(), s.micro)}
	d.Reference = s.simulate("", "priority", 1, 1e18)
	compute := s.simulate("", "", 0, 1e18).MakespanS
	ideal := d.Reference.MakespanS
	doc.Reference["makespan_s"], doc.Reference["compute_makespan_s"] = ideal, compute-s.sync/s.nic
	for i, name := range s.policies {
		service := "max-min"
		if i == len(s.policies)-1 {
			service = "level-priority"
		}
		slower := 1.5 + 1.5*float64(len(s.policies)-i)/float64(len(s.policies))
		p := s.simulate(name, service, slower, 3*s.nic)
		p.Topology = s.topology(i)
		if s.pods() > 1 {
			n := float64(p.Topology.Pairs[1].Circuits)
			p.Circuits = []result.Series{{Name: "pod 0 to pod 1", TimeS: []float64{0, 1}, Value: []float64{n * s.circuit, 0}}}
		}
		d.Policies = append(d.Policies, p)
		c := doc.Reference["compute_makespan_s"]
		doc.Rows = append(doc.Rows, result.Row{Policy: name, Metrics: map[string]float64{
			"makespan_s": p.MakespanS, "nct": (p.MakespanS - c) / (ideal - c),
			"bound_makespan_s": c + (p.MakespanS-c)*min(1, 1.075-0.05*slower),
		}, Labels: map[string]string{"gap_model": "any way of sharing, all topologies"}})
		if i == len(s.policies)-2 {
			doc.Rows[i].Labels["gap_model"] = "max-min fair sharing, all topologies"
		}
		for _, pod := range p.Topology.Pods {
			doc.Rows[i].Metrics["ports"] += float64(s.replicas * pod.Used)
		}
	}
	d.Windows = s.windows(&d.Reference)
	if len(s.policies) > 2 {
		d.Windows.Baseline = s.policies[1]
	}
	return doc, d
}

func (s runShape) pods() int { return (s.stages + s.perPod - 1) / s.perPod }

func (s runShape) topology(i int) *result.Topology {
	t := &result.Topology{}
	for p := range s.pods() {
		t.Pods = append(t.Pods, result.PodPorts{Name: "pod " + strconv.Itoa(p), Used: 30 + i%3, Total: 32})
		if p > 0 {
			t.Pairs = append(t.Pairs, result.Pair{A: p - 1, B: p, Circuits: 2 + (i+p)%5})
		}
		t.Pairs = append(t.Pairs, result.Pair{A: p, B: p, DP: true, Circuits: 12 + i%2, Copies: min(2, s.replicas-1)})
	}
	return t
}

// simulate returns a 1F1B simulation. Transfers take slower times their usual duration, and
// gradients share circuits of the given capacity per pod.
func (s runShape) simulate(policy, service string, slower, capacity float64) result.Simulation {
	p := result.Simulation{Policy: policy, Service: service}
	b := 2 * s.forward
	transfer := s.transfer * slower
	fwd, bwd := make([][]float64, s.stages), make([][]float64, s.stages) // end times; 0 before a task has run
	free, next := make([]float64, s.stages), make([]int, s.stages)
	for i := range s.stages {
		fwd[i], bwd[i] = make([]float64, s.micro), make([]float64, s.micro)
		p.Tracks = append(p.Tracks, result.Track{Name: "stage " + strconv.Itoa(i+1), Group: "pod " + strconv.Itoa(i/s.perPod)})
	}
	crosses := func(i int) bool { return i/s.perPod != (i+1)/s.perPod } // stages i and i+1 are in different pods
	delay := func(i int) float64 {
		if crosses(i) {
			return transfer
		}
		return 0
	}
	span := func(i int, kind string, m int, from, to float64) {
		l := &p.Tracks[i]
		l.Spans = append(l.Spans, result.Span{Kind: kind, Label: strconv.Itoa(m + 1), StartS: from, EndS: to})
	}
	for done := 0; done < 2*s.micro*s.stages; {
		for i := range s.stages {
			forward, m := oneForwardOneBackward(s.stages-i, s.micro, next[i])
			if m < 0 {
				continue
			}
			ready := free[i]
			switch {
			case forward && i > 0:
				if fwd[i-1][m] == 0 {
					continue
				}
				ready = max(ready, fwd[i-1][m]+delay(i-1))
			case !forward && i < s.stages-1:
				if bwd[i+1][m] == 0 {
					continue
				}
				ready = max(ready, bwd[i+1][m]+delay(i))
			}
			if forward {
				free[i] = ready + s.forward
				fwd[i][m] = free[i]
				span(i, "forward", m, ready, free[i])
				if i < s.stages-1 && crosses(i) {
					span(i, "pp-forward", m, free[i], free[i]+transfer)
				}
			} else {
				free[i] = ready + b
				bwd[i][m] = free[i]
				span(i, "backward", m, ready, free[i])
				if i > 0 && crosses(i-1) {
					span(i, "pp-backward", m, free[i], free[i]+transfer)
				}
			}
			next[i]++
			done++
		}
	}
	s.share(&p, free, capacity)
	for i := range p.Tracks {
		spans := p.Tracks[i].Spans
		slices.SortStableFunc(spans, func(a, b result.Span) int { return cmp.Compare(a.StartS, b.StartS) })
		for _, sp := range spans {
			p.MakespanS = max(p.MakespanS, sp.EndS)
		}
	}
	s.demand(&p, slower)
	return p
}

// oneForwardOneBackward returns the k-th task of a stage of a 1F1B pipeline. depth is the
// number of stages from it to the last.
func oneForwardOneBackward(depth, micro, k int) (forward bool, m int) {
	warm := min(depth-1, micro)
	switch {
	case k >= 2*micro:
		return false, -1
	case k < warm:
		return true, k
	case k < warm+2*(micro-warm):
		return (k-warm)%2 == 0, []int{warm + (k-warm)/2, (k - warm) / 2}[(k-warm)%2]
	}
	return false, k - micro
}

// share synchronises gradients over the circuits of a pod from the time when each stage is
// free: with equal shares, or in order of stages.
func (s runShape) share(p *result.Simulation, free []float64, capacity float64) {
	for first := 0; first < s.stages; first += s.perPod {
		n := min(s.perPod, s.stages-first)
		left, series := make([]float64, n), make([]result.Series, n)
		for k := range n {
			left[k] = s.sync
			series[k] = result.Series{Name: p.Tracks[first+k].Name, Group: p.Tracks[first].Group + " - twin"}
		}
		at := slices.Min(free[first : first+n])
		for {
			var running []int
			step := 1e18
			for k := range n {
				if left[k] <= 1 {
					continue
				}
				if free[first+k] > at {
					step = min(step, free[first+k]-at)
				} else {
					running = append(running, k)
				}
			}
			rate, remaining := make([]float64, n), capacity
			for i, k := range running {
				rate[k] = min(s.nic, remaining/float64(len(running)-i))
				if p.Service == "level-priority" {
					rate[k] = min(s.nic, remaining)
				}
				remaining -= rate[k]
				if rate[k] > 0 {
					step = min(step, left[k]/rate[k])
				}
			}
			for k := range n {
				series[k].TimeS, series[k].Value = append(series[k].TimeS, at), append(series[k].Value, rate[k])
				left[k] -= rate[k] * step
			}
			if step > 1e17 {
				break
			}
			at += step
		}
		for k := range n {
			p.Rates = append(p.Rates, series[k])
			if _, end, ok := activeRange(&series[k]); ok {
				p.Tracks[first+k].Spans = append(p.Tracks[first+k].Spans, result.Span{Kind: "dp", StartS: free[first+k], EndS: end})
			}
		}
	}
}

// demand adds up the data rate of each pod and of each bundle.
func (s runShape) demand(p *result.Simulation, slower float64) {
	type change struct{ t, v float64 }
	for pod := range s.pods() {
		var changes []change
		for i := pod * s.perPod; i < min((pod+1)*s.perPod, s.stages); i++ {
			for _, sp := range p.Tracks[i].Spans {
				if sp.Kind == "pp-forward" || sp.Kind == "pp-backward" {
					v := s.nic / max(slower, 1)
					changes = append(changes, change{sp.StartS, v}, change{sp.EndS, -v})
				}
			}
		}
		for k, r := range p.Rates {
			for i := range r.TimeS {
				if k/s.perPod == pod && i > 0 {
					changes = append(changes, change{r.TimeS[i], r.Value[i] - r.Value[i-1]})
				} else if k/s.perPod == pod {
					changes = append(changes, change{r.TimeS[i], r.Value[i]})
				}
			}
		}
		slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.t, b.t) })
		out := result.Series{Name: "pod " + strconv.Itoa(pod)}
		v := 0.0
		for i, c := range changes {
			if v += c.v; v < 1 {
				v = 0
			}
			if i+1 < len(changes) && changes[i+1].t == c.t {
				continue
			}
			out.TimeS, out.Value = append(out.TimeS, c.t), append(out.Value, v)
		}
		p.Demand = append(p.Demand, out)
	}
}

// windows returns time windows around the simulated times.
func (s runShape) windows(p *result.Simulation) result.Windows {
	var w result.Windows
	var times []float64
	for _, l := range p.Tracks {
		for _, sp := range l.Spans {
			if findSpanKind(sp.Kind).Row == 0 {
				continue
			}
			w.Task = append(w.Task, fmt.Sprintf("%s %s of %s", sp.Kind, sp.Label, l.Name))
			w.StartS, w.EndS = append(w.StartS, sp.StartS), append(w.EndS, sp.EndS)
			w.EarliestS = append(w.EarliestS, sp.StartS*0.97)
			w.LatestS = append(w.LatestS, sp.EndS*1.02+0.06*p.MakespanS)
			times = append(times, sp.StartS, sp.EndS)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	w.Intervals = max(1, len(times)-1)
	for i := range w.Task {
		a, _ := slices.BinarySearch(times, w.StartS[i])
		b, _ := slices.BinarySearch(times, w.EndS[i])
		k := w.Intervals
		w.FirstK, w.LastK = append(w.FirstK, a+1), append(w.LastK, max(b, a+1))
		w.TopoMin, w.TopoMax = append(w.TopoMin, max(1, a+1-k/4)), append(w.TopoMax, min(k, b+k/5))
		w.MinK, w.MaxK = append(w.MinK, max(1, a-3)), append(w.MaxK, min(k, b+4))
	}
	return w
}
