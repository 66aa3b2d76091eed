package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// Job is one of several that share the optical ports of pods (docs/jobs.md).
type Job struct {
	Name string
	// Problem is its own: which of its circuits to provision. Ports in it are not read, those of Shared are.
	Problem *Problem
	Pods    []int   // by pod of Problem: the shared pod that it lies in
	GPUs    []int   // by pod of Problem: the job's GPUs there
	Weight  float64 // in the objective; above 0
	// Compute and Ideal are the makespans without communication time and on the ideal fabric, which make NCT of a
	// makespan.
	Compute, Ideal engine.Time
}

// Shared is what a JobsPolicy decides on: several jobs whose pods share ports. Each job has circuits of its own, so
// that jobs meet in the ports alone.
type Shared struct {
	Jobs       []Job
	Goal       Objective
	portBudget // of the shared pods; bundles are those of all jobs, one after the other

	weights     []float64 // of the jobs, as the objective takes them
	firstBundle []int     // by job: its first bundle in a vector of all jobs' bundles; and the end
	jobOf       []int     // by bundle of that vector
}

// ErrShared is wrapped where jobs cannot share pods as they are described.
var ErrShared = errors.New("topology: jobs cannot share these pods")

// NewShared returns the problem of jobs on pods with so many ports each. Every job's problem is narrowed to the ports
// of the pods it lies in. It fails with ErrPorts where the jobs need more to connect than a pod has, and with ErrShared
// where jobs of one pod stand for different numbers of replicas.
func NewShared(jobs []Job, ports []int, goal Objective) (*Shared, error) {
	s := &Shared{Jobs: slices.Clone(jobs), portBudget: portBudget{Ports: slices.Clone(ports)}, Goal: goal, firstBundle: []int{0}}
	need, copies := make([]int, len(ports)), make([]int, len(ports))
	for j := range s.Jobs {
		job := &s.Jobs[j]
		if !(job.Weight > 0) || len(job.Pods) != len(job.Problem.Fabric.Pods) || len(job.GPUs) != len(job.Pods) {
			return nil, fmt.Errorf("%w: job %s has weight %g, %d pods, GPUs in %d and a problem of %d",
				ErrShared, job.Name, job.Weight, len(job.Pods), len(job.GPUs), len(job.Problem.Fabric.Pods))
		}
		for i, used := range job.Problem.Fabric.Ports(job.Problem.ones()) {
			pod := job.Pods[i]
			if pod < 0 || pod >= len(ports) || slices.Index(job.Pods, pod) != i {
				return nil, fmt.Errorf("%w: job %s lies twice in pod %d, or there are but %d", ErrShared, job.Name, pod, len(ports))
			}
			if n := job.Problem.Fabric.Copies; copies[pod] == 0 {
				copies[pod] = n
			} else if copies[pod] != n {
				return nil, fmt.Errorf("%w: in pod %d one replica stands for %d of some jobs and %d of %s", ErrShared, pod, copies[pod], n, job.Name)
			}
			need[pod] += used
		}
	}
	for pod, n := range need {
		if n > ports[pod] {
			return nil, fmt.Errorf("%w: shared pod %d needs at least %d, has %d", ErrPorts, pod, n, ports[pod])
		}
	}
	for j := range s.Jobs {
		job := &s.Jobs[j]
		var err error
		if job.Problem, err = job.Problem.withPorts(job.localPorts(ports)); err != nil {
			return nil, err
		}
		for _, b := range job.Problem.Fabric.Bundles {
			s.addBundle(job.Pods[b.A], job.Pods[b.B], b.Ends)
			s.jobOf = append(s.jobOf, j)
		}
		s.Useful = append(s.Useful, job.Problem.Useful...)
		s.firstBundle = append(s.firstBundle, len(s.jobOf))
	}
	s.setWeights()
	return s, nil
}

// localPorts returns what the pods of the job have of a number by shared pod.
func (j *Job) localPorts(shared []int) []int {
	own := make([]int, len(j.Pods))
	for i, pod := range j.Pods {
		own[i] = shared[pod]
	}
	return own
}

// withPorts returns the same problem with other numbers of ports in its pods. It shares the evaluators' tables with p, and
// what is decided for jobs alone.
func (p *Problem) withPorts(ports []int) (*Problem, error) {
	o := *p.Fabric
	o.Pods = slices.Clone(o.Pods)
	for i := range o.Pods {
		o.Pods[i].Ports = ports[i]
	}
	q := &Problem{Graph: p.Graph, Fabric: &o, cache: p.cache}
	if err := q.computeUseful(); err != nil {
		return nil, err
	}
	q.evaluators.New = func() any {
		w := p.acquire(context.Background(), flow.MaxMin)
		defer p.release(w)
		return &circuitEvaluator{Evaluator: w.Clone(), problem: q}
	}
	return q, nil
}

// split returns the parts of a vector of all jobs' bundles.
func (s *Shared) split(x []int) [][]int {
	parts := make([][]int, len(s.Jobs))
	for j := range parts {
		parts[j] = x[s.firstBundle[j]:s.firstBundle[j+1]:s.firstBundle[j+1]]
	}
	return parts
}

// join is the inverse of split.
func (s *Shared) join(parts [][]int) []int { return slices.Concat(parts...) }

// Fits reports whether circuits by job and bundle connect every job and keep the port budget of every pod.
func (s *Shared) Fits(circuits [][]int) bool { return s.Feasible(s.join(circuits)) }

// PortsUsed returns the ports that circuits by job and bundle take at both ends over all replicas.
func (s *Shared) PortsUsed(circuits [][]int) int {
	sum := 0
	for j := range s.Jobs {
		sum += s.Jobs[j].Problem.PortsUsed(circuits[j])
	}
	return sum
}

// PortsTotal returns the ports of all pods that some job lies in, over all replicas.
func (s *Shared) PortsTotal() int {
	sum := 0
	for pod, ports := range s.Ports {
		if j := slices.IndexFunc(s.Jobs, func(job Job) bool { return slices.Contains(job.Pods, pod) }); j >= 0 {
			sum += ports * s.Jobs[j].Problem.Fabric.Copies
		}
	}
	return sum
}
