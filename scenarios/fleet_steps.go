// This file reads scenarios that workload.steps names, and simulates them to find the
// duration of a job's step on a slice of a torus with or without a failed switch.

package scenarios

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"sim/fabric/torus"
	"sim/internal/once"
	"sim/scenarios/assembly/fleets"
	"sim/scenarios/result"
	"sim/scenarios/schema"
	"sim/workloads/fleet"
)

// fleetSteps returns the simulated steps of jobs. Their scenarios have been checked.
func (s *Scenario) fleetSteps() []fleets.Step {
	var list []fleets.Step
	for _, step := range s.Workload.StepScenarios {
		digest := step.Digest()
		seconds := func(ctx context.Context, shape fleet.Shape, downDim int) (float64, error) {
			return step.stepSeconds(ctx, stepSlice{digest, shape, downDim})
		}
		list = append(list, fleets.Step{Chips: step.chips(), Seconds: seconds})
	}
	return list
}

// chips returns the number of chips of the torus.
func (s *Scenario) chips() int {
	n := 1
	for _, side := range s.Fabric.Dims {
		n *= side
	}
	return n
}

// stepSlice identifies a simulation of a step: a scenario and the slice that it runs on.
type stepSlice struct {
	scenario string // digest of the scenario
	fleet.Shape
	downDim int // dimension with a failed switch, or -1
}

// stepTimes caches the durations of steps in seconds.
var stepTimes once.Map[stepSlice, float64]

// stepSeconds returns the duration of the work of s on a slice, in seconds, under its first
// router. It is infinite if the slice cannot run the work, for example because its
// dimensions have other lengths than the axes of ranks.
func (s *Scenario) stepSeconds(ctx context.Context, key stepSlice) (float64, error) {
	return stepTimes.Get(ctx, key, func() (float64, error) {
		// Replace the torus of the scenario by the slice. Switch 0 stands for any switch of
		// its dimension, since all have the same links.
		twist, failed := "", ""
		if key.Twisted {
			twist = torus.TPUv4
		}
		if key.downDim >= 0 {
			failed = fmt.Sprintf(`"%s0"`, torus.DimName(key.downDim))
		}
		d, _ := key.Sides()
		overrides := []string{
			fmt.Sprintf("fabric.dims=[%d,%d,%d]", d[0], d[1], d[2]),
			"fabric.twist=" + twist,
			"fabric.failed_ocs=[" + failed + "]",
		}
		if cube := key.Cube(); cube != torus.TPUCube {
			overrides = append(overrides, fmt.Sprintf("fabric.cube=[%d,%d,%d]", cube[0], cube[1], cube[2]))
		}
		onSlice, err := s.reparse(overrides)
		if err != nil {
			return math.Inf(1), nil
		}

		// The duration of a training step or collective, or else of traffic.
		row, err := onSlice.firstRow(ctx)
		for _, name := range []string{"makespan_s", "completion_s"} {
			if t, ok := row.Metrics[name]; ok && err == nil {
				return t, nil
			}
		}

		return math.Inf(1), err
	})
}

// reparse returns s with its first policy only and with overrides.
func (s *Scenario) reparse(overrides []string) (*Scenario, error) {
	c, faults := parse(s.Name+".toml", s.WithPolicy(s.PolicyNames()[0]).TOML(), overrides, s.files)
	if faults != nil {
		return nil, faults
	}
	return c.finish()
}

// firstRow decides and simulates s under its first policy.
func (s *Scenario) firstRow(ctx context.Context) (result.Row, error) {
	p, err := Prepare(ctx, s)
	if err != nil {
		return result.Row{}, err
	}
	const workers = 1
	row, _, err := p.Decide(ctx, s.PolicyNames()[0], workers)
	return row, err
}

// readSteps reads the scenarios that workload.steps names, and checks the digest of all of
// them if it is given.
func (c *checker) readSteps() {
	const key = "workload.steps.scenarios"
	w := &c.s.Workload
	sum := sha256.New()
	for i, name := range w.Steps.Scenarios {
		// A name in a file is relative to the directory of the file.
		if file, _ := schema.FindLine(c.Layers, key); !c.Overridden(key) {
			name = c.s.files.baseFilePath(file, name)
		}
		step, problem := c.readStep(name)
		if problem == "" && !c.mixHasSlice(step.chips()) {
			problem = fmt.Sprintf("%s has %d chips, and no job asks for a slice of as many", name, step.chips())
		}
		if problem != "" {
			c.rejectf(key,
				"element %d: %s; name scenarios of a step on a torus of three dimensions, as large as a slice of the mix",
				i+1, problem)
			return
		}

		w.Steps.Scenarios[i], w.StepScenarios = name, append(w.StepScenarios, step)
		sum.Write([]byte(step.Digest()))
	}

	// The digest identifies the steps in a resolved scenario.
	if digest := hex.EncodeToString(sum.Sum(nil)); len(w.StepScenarios) > 0 && w.Steps.Digest == "" {
		w.Steps.Digest = digest
	} else if len(w.StepScenarios) > 0 && w.Steps.Digest != digest {
		c.rejectf("workload.steps.digest",
			"does not match the scenarios; leave it out, or name the scenarios that it belongs to")
	}
}

// readStep reads the scenario of a step. If it cannot be used, problem describes the
// reason.
func (c *checker) readStep(name string) (*Scenario, string) {
	name, data, fault := c.s.files.open(name)
	if fault != nil {
		return nil, fault.String()
	}

	c.inputFiles = append(c.inputFiles, name)

	// Read the scenario as if it were run alone.
	sub, faults := parse(name, data, noOverrides, c.s.files)
	if faults != nil {
		return nil, faults[0].String()
	}

	// Check the fabric before the other keys: a fleet that names itself would never end.
	if !fileKind(sub.Root, "fabric").hasCoordinates {
		return nil, name + " is of no torus"
	}
	s, err := sub.finish()
	if found := (Diagnostics)(nil); errors.As(err, &found) {
		return nil, found[0].String()
	}
	if s.Engine.Level == "static" || !s.usesRouters() || len(s.Fabric.Dims) != 3 {
		return nil, name + " is at level \"static\", compares no routers, or is not of three dimensions"
	}
	return s, ""
}

// mixHasSlice reports whether jobs can request slices of whole cubes with this number of
// chips.
func (c *checker) mixHasSlice(chips int) bool {
	mix, err := c.s.fleetView().Mix()
	if err != nil {
		return true // checkFleet reports the error
	}

	// Slices smaller than a cube have no optical links.
	for _, m := range mix {
		if m.Weight > 0 && m.Shape.Cubes() > 0 && m.Shape.Chips() == chips {
			return true
		}
	}
	return false
}
