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

// steps returns the steps of jobs that are simulated, of files that were checked.
func (s *Scenario) steps() []fleets.Step {
	var list []fleets.Step
	for _, of := range s.Workload.Stepped {
		digest := of.Digest()
		list = append(list, fleets.Step{Chips: of.chips(), Seconds: func(ctx context.Context, shape fleet.Shape, down int) (float64, error) {
			return of.stepOn(ctx, slice{digest, shape, down})
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

// slice is what a step takes its time on: a scenario by its digest, and the slice of which a switch of a dimension is
// down, or none below 0.
type slice struct {
	digest string
	fleet.Shape
	down int
}

// stepTimes are how long steps take, in seconds.
var stepTimes once.Map[slice, float64]

// stepOn returns how long the work of s takes in seconds under its first router. It is infinite where the slice cannot
// serve it.
func (s *Scenario) stepOn(ctx context.Context, on slice) (float64, error) {
	return stepTimes.Get(ctx, on, func() (float64, error) {
		d := on.Dims
		set := []string{fmt.Sprintf("fabric.dims=[%d,%d,%d]", d[0], d[1], d[2]), "fabric.twist=", "fabric.failed_ocs=[]"}
		if on.Twisted {
			set[1] += torus.TPUv4
		}
		if on.down >= 0 {
			set[2] = fmt.Sprintf(`fabric.failed_ocs=["%s0"]`, torus.DimName(on.down))
		}
		one, err := s.again(set)
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

// again returns s under its first policy with overrides.
func (s *Scenario) again(overrides []string) (*Scenario, error) {
	c, faults := parse(s.Name+".toml", s.Only(s.PolicyNames()[0]).TOML(), overrides, s.files)
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
	const at = "workload.steps.scenarios"
	w := &c.s.Workload
	sum := sha256.New()
	for i, name := range w.Steps.Scenarios {
		if file, _ := schema.FindLine(c.Layers, at); !c.Overridden(at) {
			name = c.s.files.beside(file, name)
		}
		step, wrong := c.readStep(name)
		if wrong == "" && !c.asked(step.chips()) {
			wrong = fmt.Sprintf("%s has %d chips, and no job asks for a slice of as many", name, step.chips())
		}
		if wrong != "" {
			c.refuse(at, "element %d: %s; name scenarios of a step on a torus of three dimensions, as large as a slice of the mix", i+1, wrong)
			return
		}
		w.Steps.Scenarios[i], w.Stepped = name, append(w.Stepped, step)
		sum.Write([]byte(step.Digest()))
	}
	if digest := hex.EncodeToString(sum.Sum(nil)); len(w.Stepped) > 0 && w.Steps.Digest == "" {
		w.Steps.Digest = digest
	} else if len(w.Stepped) > 0 && w.Steps.Digest != digest {
		c.refuse("workload.steps.digest", "is not that of the scenarios; leave it out, or name those that it is of")
	}
}

// readStep reads the scenario of a step, or says what is wrong with it.
func (c *checker) readStep(name string) (*Scenario, string) {
	name, data, fault := c.s.files.open(name)
	if fault != nil {
		return nil, fault.String()
	}
	c.inputs = append(c.inputs, name)
	of, faults := parse(name, data, nil, c.s.files)
	if faults != nil {
		return nil, faults[0].String()
	}
	if !kindIn(of.Root, "fabric").grid { // a fleet could name itself
		return nil, name + " is of no torus"
	}
	s, err := of.finish()
	if found := (Diagnostics)(nil); errors.As(err, &found) {
		return nil, found[0].String()
	}
	if s.Engine.Level == "static" || !s.routes() || len(s.Fabric.Dims) != 3 {
		return nil, name + " is at level \"static\", compares no routers, or is not of three dimensions"
	}
	return s, ""
}

// asked reports whether jobs may ask for slices of whole cubes with so many chips.
func (c *checker) asked(chips int) bool {
	mix, err := c.s.fleet().Mix()
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
