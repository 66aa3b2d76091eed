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

// fleetSteps returns the steps of jobs that are simulated, of files that were checked.
func (s *Scenario) fleetSteps() []fleets.Step {
	var list []fleets.Step
	for _, step := range s.Workload.StepScenarios {
		digest := step.Digest()
		list = append(list, fleets.Step{Chips: step.chips(), Seconds: func(ctx context.Context, shape fleet.Shape, down int) (float64, error) {
			return step.stepSeconds(ctx, stepSlice{digest, shape, down})
		}})
	}
	return list
}

// chips returns how many chips a torus has.
func (s *Scenario) chips() int {
	n := 1
	for _, side := range s.Fabric.Dims {
		n *= side
	}
	return n
}

// stepSlice is what a step takes its time on: a scenario by its digest, and the slice of which a switch of a dimension is
// down, or none below 0.
type stepSlice struct {
	scenario string
	fleet.Shape
	downDim int
}

// stepTimes are how long steps take, in seconds.
var stepTimes once.Map[stepSlice, float64]

// stepSeconds returns how long the work of s takes in seconds under its first router. It is infinite where the slice cannot
// serve it.
func (s *Scenario) stepSeconds(ctx context.Context, key stepSlice) (float64, error) {
	return stepTimes.Get(ctx, key, func() (float64, error) {
		d := key.Dims
		set := []string{fmt.Sprintf("fabric.dims=[%d,%d,%d]", d[0], d[1], d[2]), "fabric.twist=", "fabric.failed_ocs=[]"}
		if key.Twisted {
			set[1] += torus.TPUv4
		}
		if key.downDim >= 0 {
			set[2] = fmt.Sprintf(`fabric.failed_ocs=["%s0"]`, torus.DimName(key.downDim))
		}
		one, err := s.reparse(set)
		if err != nil {
			return math.Inf(1), nil // such as ranks along axes of other lengths
		}
		row, err := one.firstRow(ctx)
		for _, name := range []string{"makespan_s", "completion_s"} {
			if t, ok := row.Metrics[name]; ok && err == nil {
				return t, nil
			}
		}
		return math.Inf(1), err
	})
}

// reparse returns s under its first policy with overrides.
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
	row, _, err := p.Decide(ctx, s.PolicyNames()[0], 1)
	return row, err
}

// readSteps reads the scenarios of steps.
func (c *checker) readSteps() {
	const key = "workload.steps.scenarios"
	w := &c.s.Workload
	sum := sha256.New()
	for i, name := range w.Steps.Scenarios {
		if file, _ := schema.FindLine(c.Layers, key); !c.Overridden(key) {
			name = c.s.files.baseFilePath(file, name)
		}
		step, problem := c.readStep(name)
		if problem == "" && !c.mixHasSlice(step.chips()) {
			problem = fmt.Sprintf("%s has %d chips, and no job asks for a slice of as many", name, step.chips())
		}
		if problem != "" {
			c.rejectf(key, "element %d: %s; name scenarios of a step on a torus of three dimensions, as large as a slice of the mix", i+1, problem)
			return
		}
		w.Steps.Scenarios[i], w.StepScenarios = name, append(w.StepScenarios, step)
		sum.Write([]byte(step.Digest()))
	}
	if digest := hex.EncodeToString(sum.Sum(nil)); len(w.StepScenarios) > 0 && w.Steps.Digest == "" {
		w.Steps.Digest = digest
	} else if len(w.StepScenarios) > 0 && w.Steps.Digest != digest {
		c.rejectf("workload.steps.digest", "is not that of the scenarios; leave it out, or name those that it is of")
	}
}

// readStep reads the scenario of a step, or says what is wrong with it.
func (c *checker) readStep(name string) (*Scenario, string) {
	name, data, fault := c.s.files.open(name)
	if fault != nil {
		return nil, fault.String()
	}
	c.inputFiles = append(c.inputFiles, name)
	sub, faults := parse(name, data, nil, c.s.files)
	if faults != nil {
		return nil, faults[0].String()
	}
	if !fileKind(sub.Root, "fabric").hasCoordinates { // a fleet could name itself
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

// mixHasSlice reports whether jobs may ask for slices of whole cubes with so many chips.
func (c *checker) mixHasSlice(chips int) bool {
	mix, err := c.s.fleetView().Mix()
	if err != nil {
		return true // which is told
	}
	for _, m := range mix {
		if m.Weight > 0 && m.Shape.Cubes() > 0 && m.Shape.Chips() == chips {
			return true
		}
	}
	return false
}
