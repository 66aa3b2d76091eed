package plans

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure"
	"sim/policies/reconfigure/plan"
	"sim/scenarios/assembly"
	"sim/workloads/collective"
)

// exchangeSystem is a scenario of an all-to-all on a scale-up domain, built. Its policies are planners.
type exchangeSystem struct {
	s        *Scenario
	domain   *scaleup.Domain
	chunk    int64 // bytes
	slot     engine.Time
	bounds   *plan.Bounder
	planning *reconfigure.PlannerSet
	// isRepeated says that all-to-alls follow each other, so that a plan of one topology finds it set up.
	isRepeated bool
	// leadTimes is how long before each of the four all-to-alls of a training step's layer switches may begin to
	// reconfigure.
	leadTimes [4]engine.Time
}

// New makes the system of s, planned by so many goroutines; 0 is one a processor.
func New(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
	workers = cmp.Or(workers, runtime.GOMAXPROCS(0))
	switch {
	case s.IsStepwise():
		return newCollectiveSystem(ctx, s)
	case s.Workload.IsTraining:
		return newStepSystem(ctx, s, workers)
	}
	return newExchangeSystem(ctx, s, workers)
}

// Domain returns the hardware of s.
func (s *Scenario) Domain() *scaleup.Domain {
	f := &s.Fabric.ScaleUp
	return &scaleup.Domain{
		GPUs: f.GPUs, Switches: f.Switches, Rate: f.LinkRate, Latency: f.LinkLatency,
		Delay:       f.Delay,
		Independent: f.Reconfigure == "independent",
	}
}

// newExchangeSystem builds the all-to-all of s.
func newExchangeSystem(ctx context.Context, s *Scenario, workers int) (*exchangeSystem, error) {
	d := &exchangeSystem{s: s, domain: s.Domain()}
	if err := d.domain.Check(); err != nil {
		return nil, err
	}
	w := &s.Workload
	d.chunk = int64(w.Exchange.Chunk)
	if w.IsTraining {
		d.chunk = min(d.chunk, int64(w.Exchange.Message)) // else slots would be longer than messages
	}
	sizes, err := s.sizes()
	if err != nil {
		return nil, err
	}
	p := &plan.Problem{GPUs: d.domain.GPUs, Degree: d.domain.Switches, Seed: s.Seed}
	if p.Chunks, err = collective.Chunks(sizes, d.chunk); err != nil {
		return nil, err
	}
	d.slot = d.domain.Slot(d.chunk)
	if d.bounds, err = plan.NewBounder(p, func() bool { return ctx.Err() != nil }); err != nil {
		return nil, err
	}
	o, err := s.plannerOptions(workers)
	if err != nil {
		return nil, err
	}
	d.planning, err = sharedPlannings.get(p, o)
	return d, err
}

// sizes returns the bytes of every ordered pair's message, row by row.
func (s *Scenario) sizes() ([]int64, error) {
	w, n := &s.Workload, s.Fabric.ScaleUp.GPUs
	switch w.Exchange.Sizes {
	case "uniform":
		return collective.UniformSizes(n, int64(w.Exchange.Message))
	case "random":
		return collective.RandomSizes(n, int64(w.Exchange.Message), s.Seed)
	case "zipf":
		return collective.ZipfSizes(n, int64(w.Exchange.Message), w.Exchange.Exponent, s.Seed)
	}

	all := make([]int64, 0, n*n)
	for _, row := range w.Exchange.Matrix {
		for _, b := range row {
			all = append(all, int64(b))
		}
	}

	return all, nil
}

// plannerOptions returns the options of all planners.
func (s *Scenario) plannerOptions(workers int) (reconfigure.Options, error) {
	o := reconfigure.Options{Settings: s.Policy.Keys.Settings, Workers: workers,
		Independent: s.Fabric.ScaleUp.Reconfigure == "independent"}
	if !slices.ContainsFunc(s.Policy.Planners, func(name string) bool { return reconfigure.ByName(name).Given }) {
		return o, nil
	}
	data, err := s.Read(o.Imported.File)
	if err != nil {
		return o, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != o.Imported.SHA256 {
		return o, fmt.Errorf("%s is not the file that the scenario was checked with",
			o.Imported.File)
	}
	if d := s.Domain(); d.Independent {
		slot := d.Slot(int64(s.Workload.Exchange.Chunk))
		o.DelaySlots = int64((d.Delay + slot - 1) / slot)
	}

	o.Plans, err = plan.ReadJSON(bytes.NewReader(data), o.Imported.File)
	return o, err
}

// sharedPlannings keeps those of late, so that a sweep over reconfiguration delays plans once.
var sharedPlannings planningCache

// planningCache is a set of plannings of which the oldest are forgotten. Its zero value is empty.
type planningCache struct {
	mu    sync.Mutex
	keys  [][sha256.Size]byte // oldest first
	byKey map[[sha256.Size]byte]*reconfigure.PlannerSet
}

// maxPlannings is how many are kept: those of few studies' settings that are at work at a time, and of the stages of a
// step whose sizes are drawn.
const maxPlannings = 64

func (k *planningCache) get(p *plan.Problem, o reconfigure.Options) (*reconfigure.PlannerSet, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %d\n", p.GPUs, p.Degree, p.Seed)
	for _, c := range p.Chunks {
		h.Write([]byte{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)})
	}
	relevant := o
	relevant.Plans, relevant.Imported, relevant.Workers = nil,
		reconfigure.ImportedOptions{}, 0
	fmt.Fprintf(h, "%+v\n", relevant)
	if err := plan.WriteJSON(h, o.Plans); err != nil {
		return nil, err
	}
	key := [sha256.Size]byte(h.Sum(nil))
	k.mu.Lock()
	defer k.mu.Unlock()
	if s, ok := k.byKey[key]; ok {
		return s, nil
	}
	s, err := reconfigure.NewPlannerSet(p, o)
	if err != nil {
		return nil, err
	}
	if k.byKey == nil {
		k.byKey = map[[sha256.Size]byte]*reconfigure.PlannerSet{}
	}
	if len(k.keys) == maxPlannings {
		delete(k.byKey, k.keys[0])
		k.keys = slices.Delete(k.keys, 0, 1)
	}

	k.keys = append(k.keys, key)
	k.byKey[key] = s
	return s, nil
}

// referenceMetrics are of the work and the domain alone.
func (d *exchangeSystem) Reference() map[string]float64 {
	chunks := 0
	for _, c := range d.planning.Problem.Chunks {
		chunks += int(c)
	}
	m := map[string]float64{"slot_s": d.slot.Seconds(), "chunks": float64(chunks)}
	m["bound_completion_s"] = d.completionBound(false).Seconds()
	return m
}

// completionBound is a lower bound on the completion time of every plan that the scenario lets planners make, of whole
// chunks or fluid.
func (d *exchangeSystem) completionBound(fluid bool) engine.Time {
	return d.bounds.Completion(d.rules(), d.domain.Delay, d.slot, fluid)
}

// rules are what all plans of the scenario keep to, whichever planners are listed: a cell of a sweep is of one planner,
// and has the same numbers as its row in a run.
func (d *exchangeSystem) rules() plan.Rules {
	return plan.Rules{
		Relay:       true,
		Independent: d.domain.Independent, Topologies: d.s.Policy.Reconfigurations,
		Standing: d.isRepeated,
	}
}

func (d *exchangeSystem) Begin(ctx context.Context, o *assembly.Outcome) error {
	o.UsesPlanners = true
	return nil
}

// ForgetPlans drops the plans that are kept from scenario to scenario.
func ForgetPlans() {
	sharedPlannings.mu.Lock()
	defer sharedPlannings.mu.Unlock()
	sharedPlannings.keys, sharedPlannings.byKey = nil, nil
}
