package topology

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"sim/engine"
	"sim/engine/flow"
)

// JobsPolicy is a multi-job allocator. It divides the ports of shared pods among jobs and
// chooses the circuits of each.
type JobsPolicy interface {
	// ChooseAll returns a decision for s. It returns the error of ctx if ctx is
	// cancelled.
	ChooseAll(ctx context.Context, s *SharedPods, o JobsOptions) (*JobsDecision, error)
}

// JobsOptions controls how multi-job allocators decide.
type JobsOptions struct {
	Options               // of Single; Fixed is ignored
	Single  Policy        // allocator for single jobs; Row.Single must be true for it
	Search  SearchOptions // limits of the joint search
	// Optimum is the result of Optimise for the same jobs and options, if the caller has
	// it. Allocator "joint" then does not repeat the search.
	Optimum *JobsOptimum
}

// JobsDecision is the result of a multi-job allocator.
type JobsDecision struct {
	Jobs        []*Decision // indexed by job; their bounds ignore the other jobs
	Value       float64     // value of the objective
	Evaluations int64       // topologies of single jobs simulated or bounded
	Stopped     string      // reason why a search ended early; "" if all completed
}

// Circuits returns the circuits, indexed by job and bundle.
func (d *JobsDecision) Circuits() [][]int {
	x := make([][]int, len(d.Jobs))
	for j, one := range d.Jobs {
		x[j] = one.Circuits
	}
	return x
}

// combine returns the decision that consists of the given decisions of the jobs.
func (s *SharedPods) combine(jobs []*Decision) *JobsDecision {
	d := &JobsDecision{Jobs: jobs, Value: s.Value(makespans(jobs))}
	for j, one := range jobs {
		d.Evaluations += one.Evaluations
		if one.Stopped != "" && d.Stopped == "" {
			d.Stopped = fmt.Sprintf("job %s: %s", s.Jobs[j].Name, one.Stopped)
		}
	}
	return d
}

// makespans returns the makespans of decisions.
func makespans(jobs []*Decision) []engine.Time {
	c := make([]engine.Time, len(jobs))
	for j, d := range jobs {
		c[j] = d.Makespan
	}
	return c
}

// JobsRow is an entry of JobsTable: a named multi-job allocator.
type JobsRow struct {
	Name   string
	Doc    string // description of one line
	Policy JobsPolicy
	// Joint is true for the allocator that decides all jobs together and uses
	// JobsOptions.Optimum.
	Joint bool
}

// JobsTable lists the multi-job allocators in the order of the documentation.
var JobsTable = []JobsRow{
	{Name: "even-split", Doc: "each job alone, with ports in proportion to its GPUs in every pod",
		Policy: evenSplitAllocator{}},
	{Name: "aggregate", Doc: "each job alone with all ports, then all circuits scaled by weight until they fit (DELTA, Sec. VI)", Policy: aggregateAllocator{}},
	{Name: "surplus", Doc: "one job after the other, with its even share and the unused ports of the previous jobs (DELTA, Sec. V-D)", Policy: surplusAllocator{}},
	{Name: "joint", Doc: "best circuits of all jobs together, with proof", Policy: jointJobsAllocator{},
		Joint: true},
}

// FindJobs returns the multi-job allocator with the given name.
func FindJobs(name string) (*JobsRow, error) {
	for i := range JobsTable {
		if JobsTable[i].Name == name {
			return &JobsTable[i], nil
		}
	}
	return nil, fmt.Errorf("topology: unknown multi-job allocator %q", name)
}

// services returns the services with which given circuits are simulated: the service of
// the key "service" if it is set, else the services of the allocator for single jobs.
func (o *JobsOptions) services() []flow.Service {
	if _, chooses := o.Single.(jointAllocator); chooses && o.Service == "" {
		return servicesToTry
	}
	return []flow.Service{o.serviceOr(flow.MaxMin)}
}

// decideAlone returns the decision of the allocator for single jobs for job j, with the
// given ports of each shared pod.
func (s *SharedPods) decideAlone(ctx context.Context, o *JobsOptions, j int, ports []int) (*Decision, error) {
	job := &s.Jobs[j]
	local := job.localPorts(ports)
	d, err := job.Problem.cache.get(fmt.Sprintf("%v %T %+v %+v", local, o.Single, o.Single, o.Options), func() (*Decision, error) {
		p, err := job.Problem.withPorts(local)
		if err != nil {
			return nil, err
		}
		return o.Single.Choose(ctx, p, o.Options)
	})

	if err == nil { // a cached decision has not checked ctx
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", job.Name, err)
	}
	return d, nil
}

// decisionCache stores the decisions for one job by ports, allocator and options.
// Multi-job allocators and the comparison of placements request the same decisions
// repeatedly.
type decisionCache struct {
	mu      sync.Mutex
	entries map[string]Decision
}

// get returns a copy of the decision stored under key, or stores and returns the result
// of decide.
func (z *decisionCache) get(key string, decide func() (*Decision, error)) (*Decision, error) {
	z.mu.Lock()
	d, known := z.entries[key]
	z.mu.Unlock()
	if !known {
		now, err := decide()
		if err != nil {
			return nil, err
		}
		d = *now
		z.mu.Lock()
		if z.entries == nil {
			z.entries = map[string]Decision{}
		}
		z.entries[key] = d
		z.mu.Unlock()
	}

	d.Circuits = slices.Clone(d.Circuits)
	return &d, nil
}

// decideSeparately decides each job on its own, with ports[j] ports of each shared pod.
func (s *SharedPods) decideSeparately(ctx context.Context, o *JobsOptions, ports [][]int) (_ *JobsDecision, err error) {
	jobs := make([]*Decision, len(s.Jobs))
	for j := range jobs {
		if jobs[j], err = s.decideAlone(ctx, o, j, ports[j]); err != nil {
			return nil, err
		}
	}
	return s.combine(jobs), nil
}

// evaluateBest simulates topology x under the services and returns the fastest result;
// ties go to the first service. It stops if a result meets the bound.
func (p *Problem) evaluateBest(ctx context.Context, x []int, services []flow.Service) (*Decision, error) {
	w := p.acquire(ctx, services[0])
	defer p.release(w)
	d := &Decision{Circuits: x, Makespan: never}
	for i, service := range services {
		d.Evaluations++
		w.SetService(service)
		if c, ok := w.simulate(x, d.Makespan); ok && isFaster(c, d.Makespan) {
			d.Makespan, d.Service = c, service
		}
		if i+1 < len(services) {
			d.Evaluations++
			if float64(d.Makespan) <= float64(w.bound(x))*(1+relTol) {
				break
			}
		}
	}

	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.Makespan == never {
		return nil, fmt.Errorf("topology: the circuits %v cannot be simulated to the end of the graph", x)
	}
	return d, nil
}
