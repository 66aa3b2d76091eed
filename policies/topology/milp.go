package topology

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/milp"
)

// MILPOptions holds the options of the allocators that call a MILP solver.
type MILPOptions struct {
	Solver    string      `key:"solver" doc:"solver; 'none' decides without one and can export models" default:"auto" choices:"@milp-solvers"`
	TimeLimit engine.Time `key:"time_limit" doc:"wall-clock limit of the solver; \"0s\" means none" default:"10min"`
	Gap       float64     `key:"gap" doc:"relative gap between solution and bound at which the solver stops" default:"0.0001" max:"1"`
	Threads   int         `key:"threads" doc:"threads of the solver; with one thread its runs repeat" default:"1" min:"1" max:"1024"`
	Form      string      `key:"form" doc:"form of the model: with additional valid rows ('strengthened') or as printed ('paper')" default:"strengthened" choices:"strengthened|paper" when:"model=variable-interval"`
	Model     string      `key:"model" doc:"the paper's model with variable intervals, or the fixed-step model of its App. A" default:"variable-interval" choices:"variable-interval|fixed-step"`
	Step      engine.Time `key:"step" doc:"length of a time step" default:"1ms" above:"0" when:"model=fixed-step"`
	Intervals int         `key:"intervals" doc:"number of time intervals, K; 0 means the number that the schedules of the best baseline and of the best known topology need" default:"0" max:"1000000" when:"model=variable-interval"`
	Anchors   bool        `key:"anchors" doc:"narrow index windows by the anchors of Alg. 1, which may exclude the optimum" default:"false" when:"model=variable-interval"`
	// Export is the directory for models in MPS and LP format; "" means none. No key sets
	// it, because scenarios name no outputs.
	Export string
}

// NoSolver is the value of MILPOptions.Solver with which models are exported but not
// solved.
const NoSolver = "none"

// SolverReport is the result of a MILP solver. Makespan and Bound refer to the model. The
// model may delay transfers that the simulation starts immediately, but it cannot preempt
// them or divide time more finely than its intervals.
type SolverReport struct {
	Solver               string // name and version; "" if none was run
	Status               string
	Makespan             engine.Time // 0 if it found no solution
	Bound                engine.Time // 0 if it proved none
	Ports                string      // status of the minimisation of ports; "" if there was none
	Columns, Rows, Whole int         // size of the model; Whole is the number of integer columns
	Intervals            int
}

// milpAllocator solves the paper's model with a MILP solver (DELTA-Joint, and with fair
// sharing DELTA-Topo, Sec. III-B). It starts without a solution, or with a hot start: the
// decision of delta-joint or delta-fast (Sec. IV).
type milpAllocator struct {
	name     string
	isFair   bool
	hotStart bool
}

// FixedStep is the value of MILPOptions.Model that selects the model of App. A.
const FixedStep = "fixed-step"

// AnySolver is the value of MILPOptions.Solver that selects any solver on the PATH.
const AnySolver = "auto"

// available returns an error that explains what to install if the solver is not
// available.
func (o *MILPOptions) available() error {
	if o.Solver == NoSolver {
		return nil
	}
	_, _, err := milp.Find(o.solver())
	return err
}

// solver returns the solver's name in package milp; "" means any.
func (o *MILPOptions) solver() string {
	if o.Solver == AnySolver {
		return ""
	}
	return o.Solver
}

func (m milpAllocator) Choose(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	if err := o.MILP.available(); err != nil {
		return nil, err
	}
	known, err := m.reference(ctx, p, o)
	if err != nil {
		return nil, err
	}
	r := &milpRun{milpAllocator: m, p: p, o: o, reference: known, report: &SolverReport{}}
	if err := r.build(ctx); err != nil {
		return nil, err
	}
	if err := r.export(); err != nil {
		return nil, err
	}
	x, err := r.solve(ctx)
	if err != nil {
		return nil, err
	}
	bound, err := p.Bound(ctx)
	if err != nil {
		return nil, err
	}

	// If rates are free, the fastest of several services represents the model.
	services := servicesToTry
	if m.isFair || o.Service != "" {
		services = []flow.Service{o.serviceOr(flow.MaxMin)}
	}
	d, err := p.evaluateBest(ctx, x, services)
	if err != nil {
		return nil, err
	}
	d.Bound, d.BoundModel, d.Solver, d.Stopped = bound, AnyService, r.report, r.stopped
	d.Evaluations += known.Evaluations
	return d, nil
}

// reference returns the decision of delta-fast or delta-joint. It is the hot start, and
// it determines the number of intervals K (footnote 1 of Sec. III-B).
func (m milpAllocator) reference(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	o.KeepPorts = true
	if m.isFair {
		o.Service = flow.MaxMin.String()
		return fastAllocator{}.Choose(ctx, p, o)
	}
	o.Service, o.Tails = "", false // the solver's circuits are simulated with servicesToTry
	return jointAllocator{}.Choose(ctx, p, o)
}

// deltaModel is one of the two forms of the paper's model.
type deltaModel interface {
	MinimisePorts(makespan float64)
	Seconds(value float64) float64
	Schedule(values []float64) *milp.Schedule
}

// milpRun is one decision of a milpAllocator.
type milpRun struct {
	milpAllocator // its name and kind
	p             *Problem
	o             Options
	reference     *Decision // see milpAllocator.reference

	baseline []int // circuits of the best baseline
	model    *milp.Model
	delta    deltaModel
	start    []float64 // values of the hot start; nil without a hot start
	report   *SolverReport
	stopped  string
}

// build builds the model and its hot start.
func (r *milpRun) build(ctx context.Context) error {
	_, x, makespan := r.p.bestBaseline(ctx, flow.MaxMin)
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.baseline = x; x == nil {
		return errNoEnd
	}

	// The number of intervals K must suffice for the baseline and for the reference
	// decision.
	first, err := r.p.milpSchedule(ctx, r.baseline, flow.MaxMin)
	if err != nil {
		return err
	}
	best, err := r.p.milpSchedule(ctx, r.reference.Circuits, r.reference.Service)
	if err != nil {
		return err
	}
	k := max(len(first.Times), len(best.Times)) - 1
	if r.o.MILP.Intervals > 0 {
		k = r.o.MILP.Intervals
	}

	// The makespan of the best known decision is an upper bound.
	if r.hotStart {
		makespan = min(makespan, r.reference.Makespan)
	}
	upper := makespan + engine.Time(float64(makespan)*makespanRelTol) + 1

	// Minimising ports may lengthen the makespan. Equal shares (Eq. 17) can also be slower than the
	// max-min shares of the simulation; a tenth is a wide margin for this.
	upper += engine.Time(float64(upper) * r.o.PortTolerance)
	if r.isFair {
		upper += upper / 10
	}

	// Build the instance, unless the model would be too large.
	in, err := r.p.milpInstance(ctx, upper, k, r.o.MILP.Anchors)
	if err != nil {
		return err
	}
	active := 0
	for i := range in.Tasks {
		active += max(0, in.Tasks[i].LastInterval-in.Tasks[i].FirstInterval+1)
	}
	if active > maxActiveIntervals {
		return fmt.Errorf("topology: a model with %d intervals has %d pairs of a transfer and an interval, more than the maximum of %d, which fits the memory; lower policy.milp.intervals",
			k, active, maxActiveIntervals)
	}

	// Build the model in the selected form.
	form := milp.Form{Paper: r.o.MILP.Form == "paper", Fair: r.isFair}
	if r.o.MILP.Model == FixedStep {
		f, err := milp.NewFixedStepModel(in, r.o.MILP.Step.Seconds(), form)
		if err != nil {
			return err
		}
		r.model, r.delta = f.Model, f
	} else {
		v, err := milp.NewVariableIntervalModel(in, form)
		if err != nil {
			return err
		}
		r.model, r.delta = v.Model, v
		r.report.Intervals = k
		if r.hotStart {
			r.setStart(v, best)
		}
	}

	r.report.Columns, r.report.Rows, r.report.Whole = len(r.model.Columns), len(r.model.Rows),
		r.model.Integers()
	return nil
}

// maxActiveIntervals is the maximum number of pairs of a transfer and an interval in
// which it may be active. Columns and rows of the model are a few times as many; at this
// limit they need about 5 GB.
const maxActiveIntervals = 2_000_000

// makespanRelTol is the relative difference that rounding to ticks may cause between
// equal makespans.
const makespanRelTol = 1e-9

// setStart sets the hot start if the schedule satisfies the model. It may not, because
// max-min sharing can differ from the paper's equal sharing, and the schedule can be
// outside the anchors of Alg. 1.
func (r *milpRun) setStart(v *milp.VariableIntervalModel, s *milp.Schedule) {
	const eps = 1e-6 // feasibility tolerance of the solvers
	p, err := v.Point(s)
	if err != nil {
		return
	}
	if worst, _ := v.Violation(p); worst <= eps {
		r.start = p
	}
}

// export writes the model in MPS and LP format, in files named by a hash of its content.
func (r *milpRun) export() error {
	if r.o.MILP.Export == "" {
		return nil
	}
	sum := sha256.New()
	if err := r.model.WriteMPS(sum); err != nil {
		return err
	}
	if err := os.MkdirAll(r.o.MILP.Export, 0o777); err != nil {
		return fmt.Errorf("topology: writing the model: %w", err)
	}
	for _, f := range []struct {
		extension string
		write     func(io.Writer) error
	}{
		{extension: "mps", write: r.model.WriteMPS},
		{extension: "lp", write: r.model.WriteLP},
	} {
		path := filepath.Join(r.o.MILP.Export, fmt.Sprintf("%s-%.4x.%s", r.name, sum.Sum(nil), f.extension))
		file, err := os.Create(path)
		if err != nil {
			return fmt.Errorf("topology: writing the model: %w", err)
		}
		if err := errors.Join(f.write(file), file.Close()); err != nil {
			return fmt.Errorf("topology: writing the model to %s: %w", path, err)
		}
	}

	return nil
}

// solve returns the solver's circuits, with minimum ports unless ports are kept. Without
// a solution it returns the circuits of the hot start or the baseline.
func (r *milpRun) solve(ctx context.Context) ([]int, error) {
	fallback := r.baseline
	if r.hotStart {
		fallback = r.reference.Circuits
	}
	if r.o.MILP.Solver == NoSolver {
		r.report.Status, r.stopped = "written, not solved", "before the solver was run"
		return fallback, nil
	}

	// Minimise the makespan.
	options := milp.Options{
		Solver: r.o.MILP.solver(), TimeLimit: wallClock(r.o.MILP.TimeLimit), Gap: r.o.MILP.Gap,
		Threads: r.o.MILP.Threads, Seed: r.o.Seed, Start: r.start,
	}
	started := time.Now()
	s, err := milp.Solve(ctx, r.model, options)
	if err != nil {
		return nil, err
	}
	r.report.Solver, r.report.Status = s.Solver, string(s.Status)
	if s.Status == milp.Stopped {
		r.stopped = fmt.Sprintf("after the solver's time limit of %v", wallClock(r.o.MILP.TimeLimit))
	}
	if !math.IsInf(s.Bound, 0) {
		if r.report.Bound, err = engine.FromSeconds(max(0, r.delta.Seconds(s.Bound))); err != nil {
			return nil, fmt.Errorf("topology: the solver's bound: %w", err)
		}
	}

	// Without a solution, use the fallback.
	if s.Values == nil {
		if s.Status == milp.Infeasible {
			r.report.Status = "infeasible: no schedule of the model is as short as the simulated baseline; increase policy.milp.intervals"
		}
		r.stopped = strings.TrimPrefix(r.stopped+", without a solution", ", ")
		return fallback, nil
	}

	if r.report.Makespan, err = engine.FromSeconds(r.delta.Seconds(s.Value)); err != nil {
		return nil, fmt.Errorf("topology: the solver's makespan: %w", err)
	}
	if gap := float64(r.report.Makespan-r.report.Bound) / float64(r.report.Makespan); s.Status == milp.Optimal && gap > 1e-6 {
		r.report.Status = fmt.Sprintf("within %.2g of the bound, as policy.milp.gap allows", gap)
	}
	x := r.delta.Schedule(s.Values).Circuits
	if r.o.KeepPorts {
		return x, nil
	}

	// Eq. 4: minimise ports among solutions with this makespan.
	r.delta.MinimisePorts(r.delta.Seconds(s.Value) * (1 + max(r.o.PortTolerance, makespanRelTol)))
	options.Start, options.Gap = s.Values, 0
	options.AbsGap = 0.99 // ports are integers
	if options.TimeLimit > 0 {
		options.TimeLimit = max(time.Second, options.TimeLimit-time.Since(started))
	}
	minimum, err := milp.Solve(ctx, r.model, options)
	if errors.Is(err, milp.ErrSolver) { // the first solution remains valid
		r.stopped, r.report.Ports = "saving ports: "+err.Error(), "failed"
		return x, nil
	}
	if err != nil {
		return nil, err
	}
	r.report.Ports = string(minimum.Status)
	if minimum.Status == milp.Stopped && r.stopped == "" {
		r.stopped = fmt.Sprintf("saving ports, after the solver's time limit of %v",
			wallClock(r.o.MILP.TimeLimit))
	}
	if minimum.Values != nil {
		x = r.delta.Schedule(minimum.Values).Circuits
	}
	return x, nil
}
