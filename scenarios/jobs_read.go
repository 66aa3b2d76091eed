package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/input"
	"sim/scenarios/schema"
)

// maxJobs bounds the jobs that share pods.
const maxJobs = 100

// jobsGiven reports whether the file describes jobs in [[job]], on a fabric that has them, or none that is known.
func (c *checker) jobsGiven() bool {
	v, given := c.Root["job"]
	if !given {
		return false
	}
	list, isList := v.([]any)
	fabric := kindIn(c.Root, "fabric")
	return (fabric.forms == nil || fabric.shared) && !(isList && len(list) == 0)
}

// resolveJobs checks a scenario of several jobs: what stands at the top, then each job as a scenario of its own, then
// what the jobs share.
func (c *checker) resolveJobs() {
	c.noteMappings()
	if c.s.Policy.Placed.ComparesMappings() {
		c.takePolicies("mappings")
	} else {
		c.takePolicies("arbiters")
	}
	fabric := c.kind("fabric")
	c.Schema = c.s.jobsSchema()
	c.Read(false) // what is wrong with [workload] is told of each job, with the keys that the job adds
	c.checkName()
	rows := schema.Rows(c.Root["job"])
	if len(rows) > maxJobs {
		c.refuse("job", "stands %d times; describe at most %d jobs", len(rows), maxJobs)
	}
	if !c.OK("job") || fabric == nil {
		return
	}
	c.Derived["replay"], c.Derived["engine"] = true, true
	c.readMappings()
	c.ApplyDefaults()
	c.checkMappings()
	checkSearch(c)
	for i, row := range rows {
		c.resolveJob(i, row)
	}
	checkJobs(c)
	if len(c.Diagnostics) > 0 {
		return
	}
	c.settleJobs()
}

// jobsSchema returns the tables at the top of a scenario of several jobs: those of a fabric with one job, of which some
// are not used and some are the jobs' own.
func (s *Scenario) jobsSchema() *schema.Schema {
	fabric := s.sharedFabric()
	tables := schemaOf(s, true, fabric.forms[0])
	tables.Table("fabric").Optional = append(slices.Clone(jobFabric), "ports_per_pod")
	tables.Key("policy.allocators").SetCondition(s.oneJob("leave it out: several jobs compare policy.arbiters, with one policy.allocator for single jobs; " +
		"where it stands in a base, copy what else you need of that instead"))
	return tables
}

// sharedFabric returns the kind of the fabric of s, or if that is unknown the first whose pods several jobs may share.
func (s *Scenario) sharedFabric() *kind {
	if k := findKind("fabric", s.Fabric.Kind); k != nil && k.shared {
		return k
	}
	return findKind("fabric", kindsWhere("fabric", func(k *kind) bool { return k.shared })[0])
}

// takePolicies lets --policy, and --set policy.allocators, choose among the policies of the decision that is compared. A list
// of allocators stays where it is if the hardware has circuits to allocate.
func (c *checker) takePolicies(decision string) {
	const from = "policy.allocators"
	to := "policy." + decision
	origin, varied := c.Varied[from]
	if policy := schema.Child(c.Root, "policy"); policy != nil && (c.Overrides[from] || varied) && to != from &&
		!(decision != "arbiters" && c.s.leaves().policies == "allocators" && namesAllocators(policy["allocators"])) {
		policy[decision] = policy["allocators"]
		delete(policy, "allocators")
		if c.Overrides[to] = c.Overrides[from]; varied {
			c.Varied[to] = origin
		}
	}
}

// namesAllocators reports whether a value is a list of allocators.
func namesAllocators(value any) bool {
	list, ok := value.([]any)
	for _, name := range list {
		text, isText := name.(string)
		if _, err := topology.Find(text); !isText || err != nil {
			return false
		}
	}
	return ok && len(list) > 0
}

// jobPath is the path of a key of job i.
func jobPath(i int, key string) string { return fmt.Sprintf("job.%d.%s", i, key) }

// jobPart says where the keys of one job among several stand.
type jobPart struct {
	index    int
	own, top map[string]any // what [[job]] gives, and what the file does at its top
}

// says reports whether the job itself gives the key at path.
func (p *jobPart) says(path string) bool { return p != nil && gives(p.own, path) }

// first returns the first of the keys at paths that the job itself gives, "" of none.
func (p *jobPart) first(paths []string) string {
	if i := slices.IndexFunc(paths, p.says); i >= 0 {
		return paths[i]
	}
	return ""
}

// place returns the path in the file of a key that the job's own checker knows by another: that in [[job]], unless it
// is given at the top alone. Without a part it is the path itself.
func (p *jobPart) place(path string) string {
	if p == nil {
		return path
	}
	if first, _, _ := strings.Cut(path, "."); !slices.Contains(sections, first) {
		return path
	}
	if gives(p.top, path) && !p.says(path) {
		return path
	}
	return jobPath(p.index, path)
}

// gives reports whether a table holds the key at path.
func gives(m map[string]any, path string) bool {
	for path != "" {
		part, rest := schema.CutFirst(path)
		v, ok := m[part]
		if !ok {
			return false
		}
		m, _ = v.(map[string]any)
		path = rest
	}
	return true
}

// resolveJob checks job i as a scenario of its own: its keys on top of those of the file.
func (c *checker) resolveJob(i int, row map[string]any) {
	job, below := &source{root: map[string]any{}}, &source{root: map[string]any{}}
	for _, section := range sections {
		if v, given := c.Root[section]; given {
			below.root[section] = v
		}
		v, given := row[section]
		if !given {
			continue
		}
		if _, isTable := v.(map[string]any); !isTable {
			c.refuse(jobPath(i, section), "is %s; write it as a table: [job.%s]", schema.Describe(v), section)
			return
		}
		job.root[section] = v
	}
	own := schema.Child(row, "fabric")
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if t := c.Table("fabric"); !slices.Contains(jobFabric, name) && t.Find(name) != nil {
			c.refuse(jobPath(i, schema.JoinPath("fabric", name)), "is not a job's to say: the jobs share the pods; set it in [fabric] at the top")
			delete(own, name) // to find the other faults
		}
	}
	job.over(below)
	if fabric := schema.Child(job.root, "fabric"); fabric != nil {
		delete(fabric, "pods")
		if _, given := fabric["ports_per_pod"]; !given {
			// as many as can be of use; whether the jobs' ports suffice together is looked at with all of them
			fabric["ports_per_pod"] = int64(maxPorts)
		}
	}
	sub := newChecker("job", job.root, c.Layers, c.s.files)
	sub.Varied, sub.Overrides = c.Varied, c.Overrides
	sub.part = &jobPart{index: i, own: row, top: c.Root}
	if sub.resolve(); len(sub.Diagnostics) == 0 {
		checkFlows(sub)
		checkLength(sub)
	}
	c.inputs = append(c.inputs, sub.inputs...)
	for _, f := range sub.Diagnostics {
		if !slices.Contains(c.Diagnostics, f) { // as of another job
			c.Diagnostics = append(c.Diagnostics, f)
		}
	}
	if len(sub.Diagnostics) == 0 {
		c.s.Jobs[i].Scenario = sub.s
		c.placeJob(i, own)
	}
}

// placeJob gives the job's blocks of stages their pods.
func (c *checker) placeJob(i int, own map[string]any) {
	job := &c.s.Jobs[i]
	blocks, path := job.Scenario.PodsPerReplica(), jobPath(i, "pods")
	if !c.Given(path) {
		job.Pods = job.Scenario.pods().PodMap()
		path = schema.JoinPath("job", strconv.Itoa(i))
	}
	job.Scenario.Fabric.Reverse = false // the pods say so
	if !c.OK(path) {
		return
	}
	_, reverse := own["reverse"]
	switch n := c.s.Fabric.Pods; {
	case c.Given(jobPath(i, "pods")) && reverse:
		c.refuse(jobPath(i, "fabric.reverse"), "is not used beside pods; leave it out, and list the pods in the order that is wanted")
	case len(job.Pods) != blocks:
		c.refuse(path, "lists %s for %s of stages; list %d", assembly.Plural(len(job.Pods), "pod"), assembly.Plural(blocks, "block"), blocks)
	case n > 0 && c.OK("fabric.pods") && slices.Max(job.Pods) >= n:
		c.clash(path+" fabric.pods", "there is no pod %d; choose from 0 to %d, or raise fabric.pods", slices.Max(job.Pods), n-1)
	default:
		for k, pod := range job.Pods {
			if slices.Contains(job.Pods[:k], pod) {
				c.refuse(path, "pod %d is listed twice; list it once: a job's blocks of stages lie in different pods", pod)
				return
			}
		}
	}
}

// settleJobs gives all that follows from the jobs together its value. All keys must be sound.
func (c *checker) settleJobs() {
	s := c.s
	s.Fabric = Fabric{FabricKind: s.Fabric.FabricKind, Fabric: input.Fabric{OCSPods: input.OCSPods{
		PortBandwidth: s.Fabric.PortBandwidth, PortsPerPod: s.Fabric.PortsPerPod, Pods: s.Fabric.Pods,
	}}}
	ports := s.pods().PodPorts()
	for i := range s.Jobs {
		job := &s.Jobs[i]
		job.Scenario.Name, job.Scenario.Seed = job.Name, s.Seed
		most := 0
		for _, pod := range job.Pods {
			most = max(most, ports[pod])
		}
		job.Scenario.Fabric.PortsPerPod = most
	}
}
