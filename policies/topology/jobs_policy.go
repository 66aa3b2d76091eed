package topology

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"sim/engine"
	"sim/engine/flow"
)

// JobsPolicy divides the ports of shared pods among jobs, and provisions circuits for each.
type JobsPolicy interface {
	// ChooseAll decides on s. It ends early, with ctx's error, when ctx does.
	ChooseAll(ctx context.Context, s *Shared, o JobsOptions) (*JobsDecision, error)
}

// JobsOptions says how multi-job allocators decide.
type JobsOptions struct {
	Options               // of the allocator that decides for single jobs; Fixed is not read
	Single  Policy        // that allocator; one of those that search
	Search  SearchOptions // of the joint search
	// Optimum is what Optimise found for the same jobs and options, where the caller has it; "joint" then does not
	// search again.
	Optimum *JobsOptimum
}

// JobsDecision is what a multi-job allocator chose.
type JobsDecision struct {
	Jobs        []*Decision // by job; their bounds are not those of several jobs
	Value       float64     // of the objective
	Evaluations int64       // topologies of single jobs simulated or bounded
	Stopped     string      // why a search ended before its own end; "" if none did
}

// Circuits returns the circuits by job and bundle.
func (d *JobsDecision) Circuits() [][]int {
	x := make([][]int, len(d.Jobs))
	for j, one := range d.Jobs {
		x[j] = one.Circuits
	}
	return x
}

// combine gathers the jobs' decisions into one.
func (s *Shared) combine(jobs []*Decision) *JobsDecision {
	d := &JobsDecision{Jobs: jobs, Value: s.Value(makespans(jobs))}
	for j, one := range jobs {
		d.Evaluations += one.Evaluations
		if one.Stopped != "" && d.Stopped == "" {
			d.Stopped = fmt.Sprintf("job %s: %s", s.Jobs[j].Name, one.Stopped)
		}
	}
	return d
}

func makespans(jobs []*Decision) []engine.Time {
	c := make([]engine.Time, len(jobs))
	for j, d := range jobs {
		c[j] = d.Makespan
	}
	return c
}

// JobsRow is a named multi-job allocator.
type JobsRow struct {
	Name   string
	Doc    string // one line
	Policy JobsPolicy
	// Joins says that it decides on circuits and rates of all jobs together, by JobsOptions.Optimum.
	Joins bool
}

// JobsTable is the multi-job allocators by name, in the order in which they are listed.
var JobsTable = []JobsRow{
	{Name: "even-split", Doc: "each job alone, on ports in proportion to its GPUs in every pod", Policy: evenSplitAllocator{}},
	{Name: "aggregate", Doc: "each job alone on all ports, its circuits then scaled by weight until all fit (DELTA, Sec. VI)", Policy: aggregateAllocator{}},
	{Name: "surplus", Doc: "one job after the other on its even share and what those before it do not need (DELTA, Sec. V-D)", Policy: surplusAllocator{}},
	{Name: "joint", Doc: "best circuits of all jobs together, with proof", Policy: jointJobsAllocator{}, Joins: true},
}

// FindJobs returns the multi-job allocator of that name.
func FindJobs(name string) (*JobsRow, error) {
	for i := range JobsTable {
		if JobsTable[i].Name == name {
			return &JobsTable[i], nil
		}
	}
	return nil, fmt.Errorf("topology: unknown multi-job allocator %q", name)
}

// services are the rules that circuits not searched for are tried with: the one that is asked for; else those of the
// allocator for single jobs.
func (o *JobsOptions) services() []flow.Service {
	if _, chooses := o.Single.(jointAllocator); chooses && o.Service == "" {
		return servicesToTry
	}
	return []flow.Service{o.serviceOr(flow.MaxMin)}
}

// decideAlone lets the allocator for single jobs decide for job j on so many ports of each shared pod.
func (s *Shared) decideAlone(ctx context.Context, o *JobsOptions, j int, ports []int) (*Decision, error) {
	job := &s.Jobs[j]
	own := job.localPorts(ports)
	d, err := job.Problem.cache.get(fmt.Sprintf("%v %T %+v %+v", own, o.Single, o.Single, o.Options), func() (*Decision, error) {
		p, err := job.Problem.withPorts(own)
		if err != nil {
			return nil, err
		}
		return o.Single.Choose(ctx, p, o.Options)
	})
	if err == nil { // where it was known, nobody has asked
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", job.Name, err)
	}
	return d, nil
}

// decisionCache are what allocators decided for a job alone, by its ports and their options: multi-job allocators, and
// placements of jobs that are compared, ask for the same again and again.
type decisionCache struct {
	mu      sync.Mutex
	entries map[string]Decision
}

// get returns a copy of what was decided before, or decides.
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

// decideSeparately lets each job decide alone, on its ports of each shared pod.
func (s *Shared) decideSeparately(ctx context.Context, o *JobsOptions, ports [][]int) (_ *JobsDecision, err error) {
	jobs := make([]*Decision, len(s.Jobs))
	for j := range jobs {
		if jobs[j], err = s.decideAlone(ctx, o, j, ports[j]); err != nil {
			return nil, err
		}
	}
	return s.combine(jobs), nil
}

// evaluateBest simulates circuits of one job by the services and keeps the best, the first among equals. Where the first meets
// the bound there is none better.
func (p *Problem) evaluateBest(ctx context.Context, x []int, services []flow.Service) (*Decision, error) {
	w := p.acquire(ctx, services[0])
	defer p.release(w)
	d := &Decision{Circuits: x, Makespan: never}
	for i, service := range services {
		d.Evaluations++
		w.SetService(service)
		if c, ok := w.simulate(x, d.Makespan); ok && float64(c) < float64(d.Makespan)*(1-relTol/10) {
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
		return nil, fmt.Errorf("topology: %v cannot be simulated to its end", x)
	}
	return d, nil
}
