package cli

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"sim/scenarios"
	"sim/scenarios/result"
)

// fakeRun replaces scenarios.Run in scripts. It simulates nothing and returns invented results
// that fill every part of the output. The scenarios "fails", "slow" and "inf" fail, wait and
// return infinite values.
func fakeRun(ctx context.Context, s *scenarios.Scenario, opt scenarios.RunOptions) (*scenarios.Outcome, error) {
	switch s.Name {
	case "fails":
		return nil, errors.New("nothing can proceed: pp 3 of stage 2 waits for link pod 0 - pod 1")
	case "slow":
		opt.Progress("delta-joint", 3, 7)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	o := fakeOutcome()
	o.Document.Scenario, o.Document.Digest, o.Document.Seed = s.Name, s.Digest(), s.Seed
	if s.Name == "inf" {
		o.Document.Rows[0].Metrics["nct"] = math.Inf(1)
	}
	for i := range o.Document.Rows {
		opt.Progress(o.Document.Rows[i].Policy, i, len(o.Document.Rows))
	}
	return o, nil
}

const (
	fakeCompute = 3.202191
	fakeIdeal   = 3.592202
)

// fakeOutcome returns the outcome of a run of four policies on two pods.
func fakeOutcome() *scenarios.Outcome {
	o := &scenarios.Outcome{
		Document: result.Document{
			Schema: result.Schema, Scenario: "deepseek671b", Digest: strings.Repeat("0123456789abcdef", 4), Seed: 1, Version: result.Version,
			Reference: map[string]float64{"makespan_s": fakeIdeal, "compute_makespan_s": fakeCompute},
		},
		Timings: result.Timings{WallS: 0.5, Policies: map[string]result.PolicyTimings{}},
		RateSchedules: map[string][]scenarios.RateRow{
			"delta-joint": {{Task: "pp-f 1 0-1", FromS: 0.1, ToS: 0.2, Rate: 4e11}, {Task: "dp 0", FromS: 3, ToS: 3.5, Rate: 1.6e12}},
		},
	}
	o.Detail.Title = "DeepSeek-671B on 256 GPUs: TP 2, PP 16, EP 8, 128 micro-batches of 4096 tokens, 1F1B; " +
		"8 optically switched pods of 32 GPUs, 400 Gb/s a port"
	o.Detail.Reference = fakeSimulation("", fakeIdeal, 0, 0)
	for _, p := range []struct {
		name             string
		makespan, ports  float64
		gap, evaluations float64
		solve            float64
		model            string
	}{
		{"prop-alloc", 3.7718, 256, 0.0244, 1, 0.00012, "max-min fair sharing on this topology"},
		{"sqrt-alloc", 3.7423, 256, 0.0164, 1, 0.00009, "max-min fair sharing on this topology"},
		{"delta-fast", 3.6871, 252, 0.00094, 41210, 0.61, "any rates on any topology"},
		{"delta-joint", 3.6834, 244, 2e-12, 1204, 0.0123, "any rates on any topology"},
	} {
		o.Document.Rows = append(o.Document.Rows, result.Row{
			Policy: p.name,
			Metrics: map[string]float64{
				"nct":               (p.makespan - fakeCompute) / (fakeIdeal - fakeCompute),
				"nct_critical_path": 1.2,
				"makespan_s":        p.makespan,
				"comm_exposed_s":    p.makespan - fakeCompute,
				"bound_makespan_s":  p.makespan / (1 + p.gap),
				"gap":               p.gap,
				"ports":             p.ports,
				"port_ratio":        p.ports / 256,
				"evaluations":       p.evaluations,
			},
			Labels: map[string]string{
				"gap_model": p.model,
				"topology":  "        pod 0  pod 1  twins\npod 0       -      4    28\npod 1       4      -    28\n",
			},
		})
		o.Timings.Policies[p.name] = result.PolicyTimings{SolveS: p.solve, SimulateS: 0.01}
		over := p.makespan - fakeIdeal
		o.Detail.Policies = append(o.Detail.Policies, fakeSimulation(p.name, p.makespan, 0.7*over, 0.3*over))
	}
	return o
}

// fakeSimulation returns a simulation whose critical path crosses the link between the pods,
// computes, and ends with the gradient synchronisation.
func fakeSimulation(policy string, makespan, circuit, sharing float64) result.Simulation {
	p := result.Simulation{Policy: policy, Service: "max-min", MakespanS: makespan}
	at := 0.0
	step := func(name, kind, link string, lag, ideal, circuit, sharing float64) {
		start := at + lag
		at = start + ideal + circuit + sharing
		p.Path = append(p.Path, result.PathStep{Name: name, Kind: kind, Link: link, LagS: lag,
			StartS: start, EndS: at, IdealS: ideal, CircuitS: circuit, SharingS: sharing})
	}
	const moves = 4
	for i := range moves {
		n := strconv.Itoa(i + 1)
		step("PP of micro-batch "+n+" from stage 1 to stage 2", "pp-forward", "pod 0 to pod 1", fakeCompute/(moves+1), 0.01, circuit/8, sharing/moves)
	}
	step("DP of stage 2", "dp", "pod 1 to DP peer", fakeCompute/(moves+1), makespan-fakeCompute-moves*0.01-circuit-sharing, circuit/2, 0)
	for stage := range 2 {
		track := result.Track{Name: "stage " + strconv.Itoa(stage), Group: "pod " + strconv.Itoa(stage)}
		for i := range 4 {
			start := float64(i)*0.2 + float64(stage)*0.1
			track.Spans = append(track.Spans,
				result.Span{Kind: "forward", Label: strconv.Itoa(i + 1), StartS: start, EndS: start + 0.1},
				result.Span{Kind: "pp-forward", Label: strconv.Itoa(i + 1), StartS: start + 0.1, EndS: start + 0.25})
		}
		p.Tracks = append(p.Tracks, track)
	}
	p.Circuits = []result.Series{{Name: "pod 0 to pod 1", TimeS: []float64{0.1, 0.2, 0.3, 0.5}, Value: []float64{4e11, 0, 8e11, 0}}}
	p.Demand = []result.Series{{Name: "pod 0", TimeS: []float64{0.1, 0.5}, Value: []float64{4e11, 0}}}
	p.Topology = &result.Topology{
		Pods:  []result.PodPorts{{Name: "pod 0", Used: 32, Total: 32}, {Name: "pod 1", Used: 30, Total: 32}},
		Pairs: []result.Pair{{A: 0, B: 1, Circuits: 4}, {A: 0, B: 0, Circuits: 28, DP: true, Copies: 1}, {A: 1, B: 1, Circuits: 26, DP: true, Copies: 1}},
	}
	return p
}
