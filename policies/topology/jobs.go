package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// Job is one of several jobs that share the optical ports of pods (docs/jobs.md).
type Job struct {
	Name string
	// Problem is the allocation problem of the job. NewSharedPods replaces its port
	// counts by the ports of the shared pods.
	Problem *Problem
	Pods    []int   // shared pod of each pod of Problem
	GPUs    []int   // number of the job's GPUs in each pod of Problem
	Weight  float64 // weight in the objective, positive
	// Compute is the makespan without communication and Ideal the makespan on the ideal
	// fabric. They define the NCT of a makespan.
	Compute, Ideal engine.Time
}

// SharedPods is the input of a JobsPolicy: several jobs and the pods whose ports they share.
// Each job has its own circuits, so jobs interact through ports only.
type SharedPods struct {
	Jobs       []Job
	Goal       Objective
	portBudget // of the shared pods; it contains the bundles of all jobs, job after job

	weights     []float64 // normalised weights of the jobs, as the objective uses them
	firstBundle []int     // index of the first bundle of each job; the last element is the number of bundles
	jobOf       []int     // job of each bundle
}

// ErrShared means that jobs cannot share pods as described.
var ErrShared = errors.New("topology: jobs cannot share these pods")

// NewSharedPods returns the problem of jobs in pods with the given ports. The error wraps
// ErrPorts if the jobs together need more ports in a pod than it has. It wraps ErrShared
// if jobs in one pod represent different numbers of replicas, or if a job is invalid.
func NewSharedPods(jobs []Job, ports []int, goal Objective) (*SharedPods, error) {
	s := &SharedPods{Jobs: slices.Clone(jobs), portBudget: portBudget{Ports: slices.Clone(ports)},
		Goal: goal, firstBundle: []int{0}}

	// Check the jobs, and sum the ports that they need to connect.
	need, copies := make([]int, len(ports)), make([]int, len(ports))
	for j := range s.Jobs {
		job := &s.Jobs[j]
		if !(job.Weight > 0) || len(job.Pods) != len(job.Problem.Fabric.Pods) ||
			len(job.GPUs) != len(job.Pods) {
			return nil, fmt.Errorf("%w: job %s has weight %g (want > 0), %d pods, GPU counts for %d and a problem with %d pods (want equal numbers)",
				ErrShared, job.Name, job.Weight, len(job.Pods), len(job.GPUs), len(job.Problem.Fabric.Pods))
		}
		for i, used := range job.Problem.Fabric.Ports(job.Problem.ones()) {
			pod := job.Pods[i]
			if pod < 0 || pod >= len(ports) || slices.Index(job.Pods, pod) != i {
				return nil, fmt.Errorf("%w: job %s uses pod %d twice, or the pod is not below %d",
					ErrShared, job.Name, pod, len(ports))
			}
			if n := job.Problem.Fabric.Copies; copies[pod] == 0 {
				copies[pod] = n
			} else if copies[pod] != n {
				return nil, fmt.Errorf("%w: in pod %d one replica represents %d replicas in some jobs and %d in %s; the numbers must be equal", ErrShared, pod, copies[pod], n, job.Name)
			}
			need[pod] += used
		}
	}

	for pod, n := range need {
		if n > ports[pod] {
			return nil, fmt.Errorf("%w: the jobs in shared pod %d need at least %d ports, it has %d",
				ErrPorts, pod, n, ports[pod])
		}
	}

	// Limit each job to the ports of its pods, and append its bundles.
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

// localPorts converts a slice indexed by shared pod to one indexed by pod of the job.
func (j *Job) localPorts(ports []int) []int {
	local := make([]int, len(j.Pods))
	for i, pod := range j.Pods {
		local[i] = ports[pod]
	}
	return local
}

// withPorts returns the problem with other port counts. It shares the tables of the
// evaluators and the decision cache with p.
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

// split divides a topology of all jobs into one topology per job.
func (s *SharedPods) split(x []int) [][]int {
	parts := make([][]int, len(s.Jobs))
	for j := range parts {
		parts[j] = x[s.firstBundle[j]:s.firstBundle[j+1]:s.firstBundle[j+1]]
	}
	return parts
}

// join is the inverse of split.
func (s *SharedPods) join(parts [][]int) []int { return slices.Concat(parts...) }

// Fits reports whether circuits, indexed by job and bundle, connect every job and fit the
// ports of every pod.
func (s *SharedPods) Fits(circuits [][]int) bool { return s.Feasible(s.join(circuits)) }

// PortsUsed returns the ports used by circuits, indexed by job and bundle, at both ends
// over all replicas.
func (s *SharedPods) PortsUsed(circuits [][]int) int {
	sum := 0
	for j := range s.Jobs {
		sum += s.Jobs[j].Problem.PortsUsed(circuits[j])
	}
	return sum
}

// PortsTotal returns the ports of all pods that some job uses, over all replicas.
func (s *SharedPods) PortsTotal() int {
	sum := 0
	for pod, ports := range s.Ports {
		if j := slices.IndexFunc(s.Jobs, func(job Job) bool { return slices.Contains(job.Pods, pod) }); j >= 0 {
			sum += ports * s.Jobs[j].Problem.Fabric.Copies
		}
	}
	return sum
}
