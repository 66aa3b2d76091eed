// This file reads scenarios with several jobs ([[job]]). Tables at the top of the file
// hold for all jobs; tables below [[job]] override them for one job. Each job is checked
// by a checker of its own, whose diagnostics must name the right place in the file
// (jobKeys).

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
	"sim/workloads/training"
)

// maxJobs limits the jobs that share pods. Every job has its own task graph and problem,
// and the joint search changes the circuits of all.
const maxJobs = 100

// describesJobs reports whether the file describes jobs in [[job]], on a fabric that
// several jobs can share. An unknown fabric counts as one.
func (c *checker) describesJobs() bool {
	// An empty list of jobs is the same as none.
	v, given := c.Root["job"]
	if !given {
		return false
	}
	list, isList := v.([]any)
	fabric := fileKind(c.Root, "fabric")
	return (fabric.forms == nil || fabric.canBeShared) && !(isList && len(list) == 0)
}

// resolveJobs checks a scenario of several jobs: the keys at the top of the file, then each
// job as a scenario of its own, then the jobs against each other.
func (c *checker) resolveJobs() {
	c.normaliseMappings()
	if c.s.Policy.Mapping.ComparesMappings() {
		c.redirectPolicies("mappings")
	} else {
		c.redirectPolicies("multi_job_allocators")
	}
	const redirected = true
	c.leaveOutPolicies(c.listAllPolicies(redirected))

	// Read the keys at the top of the file.
	fabric := c.sectionForm("fabric")
	c.Schema = c.s.jobsSchema()
	const complete = false // faults of [workload] are reported per job, with the keys that the job adds
	c.Read(complete)
	c.checkName()
	rows := schema.Rows(c.Root["job"])
	if len(rows) > maxJobs {
		c.rejectf("job", "occurs %d times; describe at most %d jobs", len(rows), maxJobs)
	}
	if !c.OK("job") || fabric == nil {
		return
	}

	// Several jobs have no trials, and are always simulated at level "flow".
	c.Derived["trials"], c.Derived["engine"] = true, true
	c.readMappings()
	c.ApplyDefaults()
	c.checkMappings()
	checkSearch(c)
	c.readMachine()
	usesMachine := false
	for i, row := range rows {
		c.resolveJob(i, row)
		job := c.s.Jobs[i].Scenario
		usesMachine = usesMachine || job == nil || job.Profile != nil
	}
	if c.s.Machine != "" && !usesMachine {
		c.conflictf("machine", `no job computes its kernels; leave it out, or set workload.compute = "profile"`)
	}
	checkJobs(c)
	if len(c.Diagnostics) > 0 {
		return
	}

	c.deriveJobKeys()
}

// jobsSchema returns the tables at the top of a scenario of several jobs. They are the
// tables of a fabric with one job, except that some keys of [fabric] are optional because
// each job can set them.
func (s *Scenario) jobsSchema() *schema.Schema {
	fabric := s.sharedFabric()
	tables := formSchema(s, forSeveralJobs, fabric.forms[0])
	tables.Table("fabric").Optional = append(slices.Clone(jobFabricKeys), "ports_per_pod")
	tables.Key("policy.allocators").SetCondition(s.oneJobCondition(
		"leave it out: several jobs compare policy.multi_job_allocators, with one policy.allocator for single jobs; " +
			"where it stands in a base, copy what else you need of that instead"))
	return tables
}

// sharedFabric returns the kind of the fabric of s. If it is unknown or cannot be shared,
// it returns the first kind that several jobs can share.
func (s *Scenario) sharedFabric() *kind {
	if k := findKind("fabric", s.Fabric.Kind); k != nil && k.canBeShared {
		return k
	}
	return findKind("fabric", kindsWhere("fabric", func(k *kind) bool { return k.canBeShared })[0])
}

// redirectPolicies moves policies that --policy or --set policy.allocators chose to the
// list of the compared decision. A list of allocators stays in place if the fabric has
// circuits to allocate.
func (c *checker) redirectPolicies(decision string) {
	const from = "policy.allocators"
	to := "policy." + decision
	policy := schema.Child(c.Root, "policy")
	origin, isVaried := c.Varied[from]
	if _, given := policy["allocators"]; !given || to == from || !c.Overrides[from] && !isVaried {
		return
	}

	// With mappings or algorithms to compare, pods still need one allocator.
	hasAllocators := decision != "multi_job_allocators" && c.s.fabricDecision().policyKey == "allocators"
	if hasAllocators && namesAllocators(policy["allocators"]) {
		return
	}

	policy[decision] = policy["allocators"]
	delete(policy, "allocators")
	c.Overrides[to] = c.Overrides[from]
	if isVaried {
		c.Varied[to] = origin
	}
}

// namesAllocators reports whether a value is a non-empty list of names of allocators.
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

// jobPath returns the path of a key of job i.
func jobPath(i int, key string) string { return fmt.Sprintf("job.%d.%s", i, key) }

// jobKeys locates the keys of one job among several in the file. A nil jobKeys stands for a
// scenario without [[job]].
type jobKeys struct {
	index int // number of the job, from 0
	// jobTable holds the keys of the job in [[job]], and fileTable the keys at the top of
	// the file.
	jobTable, fileTable map[string]any
}

// sets reports whether the job itself sets the key at path.
func (p *jobKeys) sets(path string) bool { return p != nil && containsKey(p.jobTable, path) }

// firstSet returns the first of the keys at paths that the job itself sets, or "".
func (p *jobKeys) firstSet(paths []string) string {
	if i := slices.IndexFunc(paths, p.sets); i >= 0 {
		return paths[i]
	}
	return ""
}

// pathInFile returns the path in the file of a key that the job's checker reads at path. It
// is the path below [[job]], unless only the top of the file sets the key.
func (p *jobKeys) pathInFile(path string) string {
	if p == nil {
		return path
	}
	if first, _, _ := strings.Cut(path, "."); !slices.Contains(sections, first) {
		return path
	}
	if containsKey(p.fileTable, path) && !p.sets(path) {
		return path
	}
	return jobPath(p.index, path)
}

// containsKey reports whether a table holds the key at path.
func containsKey(m map[string]any, path string) bool {
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

// resolveJob checks job i as a scenario of its own. row holds its keys, which take
// precedence over the keys at the top of the file.
func (c *checker) resolveJob(i int, row map[string]any) {
	// job holds the tables of the job, and base those at the top of the file.
	job, base := &fileSource{root: map[string]any{}}, &fileSource{root: map[string]any{}}
	for _, section := range sections {
		if v, given := c.Root[section]; given {
			base.root[section] = v
		}
		v, given := row[section]
		if !given {
			continue
		}
		if _, isTable := v.(map[string]any); !isTable {
			c.rejectf(jobPath(i, section), "is %s; write it as a table: [job.%s]",
				schema.Describe(v), section)
			return
		}

		job.root[section] = v
	}

	// Keys of the shared pods belong to the top of the file.
	jobFabric := schema.Child(row, "fabric")
	for _, name := range slices.Sorted(maps.Keys(jobFabric)) {
		if t := c.Table("fabric"); !slices.Contains(jobFabricKeys, name) && t.Find(name) != nil {
			c.rejectf(jobPath(i, schema.JoinPath("fabric", name)),
				"cannot differ between jobs, which share the pods; set it in [fabric] at the top")
			delete(jobFabric, name) // so that further faults are found
		}
	}

	// The pods of a job are its blocks of stages.
	job.mergeOver(base)
	if fabric := schema.Child(job.root, "fabric"); fabric != nil {
		delete(fabric, "pods")
		if _, given := fabric["ports_per_pod"]; !given {
			// checkJobPorts checks later whether the ports suffice for all jobs together.
			fabric["ports_per_pod"] = int64(maxPodPorts)
		}
	}

	// Only jobs that compute kernels read the profile of the machine.
	if name, given := c.Root["machine"]; given && schema.Child(job.root, "workload")["compute"] == training.Profile {
		job.root["machine"] = name
	}

	// Check the job, and report each fault once even if several jobs have it.
	sub := newChecker("job", job.root, c.Layers, c.s.files)
	sub.Varied, sub.Overrides = c.Varied, c.Overrides
	sub.job = &jobKeys{index: i, jobTable: row, fileTable: c.Root}
	if sub.resolve(); len(sub.Diagnostics) == 0 {
		checkReplicaMode(sub)
		checkDuration(sub)
	}

	c.inputFiles = append(c.inputFiles, sub.inputFiles...)
	for _, f := range sub.Diagnostics {
		if !slices.Contains(c.Diagnostics, f) {
			c.Diagnostics = append(c.Diagnostics, f)
		}
	}

	if len(sub.Diagnostics) == 0 {
		c.s.Jobs[i].Scenario = sub.s
		c.placeJob(i, jobFabric)
	}
}

// placeJob assigns the job's blocks of stages to the pods that the key pods lists, or else
// to the first pods in order.
func (c *checker) placeJob(i int, jobFabric map[string]any) {
	job := &c.s.Jobs[i]
	blocks, path := job.Scenario.PodsPerReplica(), jobPath(i, "pods")
	if !c.Given(path) {
		job.Pods = job.Scenario.circuitsView().PodMap()
		path = schema.JoinPath("job", strconv.Itoa(i))
	}

	job.Scenario.Fabric.Reverse = false // the order of Pods replaces it
	if !c.OK(path) {
		return
	}

	_, reverse := jobFabric["reverse"]
	switch n := c.s.Fabric.Pods; {
	// The list of pods contains the order already.
	case c.Given(jobPath(i, "pods")) && reverse:
		c.rejectf(jobPath(i, "fabric.reverse"),
			"is not used with pods; leave it out, and list the pods in the wanted order")
	case len(job.Pods) != blocks:
		c.rejectf(path, "lists %s for %s of stages; list %d", assembly.Plural(len(job.Pods), "pod"),
			assembly.Plural(blocks, "block"), blocks)
	case n > 0 && c.OK("fabric.pods") && slices.Max(job.Pods) >= n:
		c.conflictf(path+" fabric.pods",
			"there is no pod %d; choose from 0 to %d, or raise fabric.pods",
			slices.Max(job.Pods), n-1)
	default:
		for k, pod := range job.Pods {
			if slices.Contains(job.Pods[:k], pod) {
				c.rejectf(path,
					"pod %d is listed twice; list it once: a job's blocks of stages lie in different pods",
					pod)
				return
			}
		}
	}
}

// deriveJobKeys sets the values that follow from all jobs together. All keys must be valid.
func (c *checker) deriveJobKeys() {
	s := c.s

	// Keep the shared keys of the fabric only. Each job has its own.
	s.Fabric = Fabric{FabricKind: s.Fabric.FabricKind, Fabric: input.Fabric{OCSPods: input.OCSPods{
		PortBandwidth: s.Fabric.PortBandwidth, PortsPerPod: s.Fabric.PortsPerPod, Pods: s.Fabric.Pods,
	}}}
	ports := s.circuitsView().PodPorts()
	for i := range s.Jobs {
		job := &s.Jobs[i]
		job.Scenario.Name, job.Scenario.Seed = job.Name, s.Seed

		// A job alone could use all ports of its pods.
		maxPodPorts := 0
		for _, pod := range job.Pods {
			maxPodPorts = max(maxPodPorts, ports[pod])
		}
		job.Scenario.Fabric.PortsPerPod = maxPodPorts
	}
}
