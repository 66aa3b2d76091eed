package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxJobs bounds the jobs that share pods.
const maxJobs = 100

// severalJobs reports whether the file describes jobs in [[job]], on a fabric that
// has them, or none that is known.
func (c *checker) severalJobs() bool {
	v, given := c.root["job"]
	list, isList := v.([]any)
	name, _ := child(c.root, "fabric")["kind"].(string)
	fabric := findKind("fabric", name)
	has := fabric == nil || slices.ContainsFunc(fabric.tables, func(t table) bool { return t.path == "job" })
	return given && has && !(isList && len(list) == 0)
}

// resolveJobs checks a scenario of several jobs: what stands at the top, then
// each job as a scenario of its own, then what the jobs share.
func (c *checker) resolveJobs() {
	c.takePolicies("arbiters")
	tables := jobsTables()
	fabric := c.kind("fabric")
	for _, t := range tables {
		c.read(t)
	}
	c.unknown(tables, false) // of [workload] in each job, with the keys that the job adds
	c.checkName()
	rows := c.rows(findTable(tables, "job"))
	if len(rows) > maxJobs {
		c.fault("job", fmt.Sprintf("stands %d times", len(rows)), fmt.Sprintf("describe at most %d jobs", maxJobs))
	}
	if !c.ok("job") || fabric == nil {
		return
	}
	for _, t := range tables {
		if t.when != oneJob {
			c.fill(t)
		}
	}
	for _, t := range tables {
		c.conditions(t)
	}
	checkSearch(c)
	for i, row := range rows {
		c.resolveJob(i, row, len(rows))
	}
	checkJobs(c)
	if len(c.faults) > 0 {
		return
	}
	c.settleJobs()
}

// takePolicies lets --policy, and --set policy.allocators, choose among policies
// that the scenario lists under another key.
func (c *checker) takePolicies(key string) {
	const from = "policy.allocators"
	to := joinPath("policy", key)
	_, varied := c.swept[from]
	if policy := child(c.root, "policy"); policy != nil && (c.set[from] || varied) {
		policy[key] = policy["allocators"]
		delete(policy, "allocators")
		c.set[to] = c.set[from]
		if varied {
			c.swept[to] = c.swept[from]
		}
	}
}

func findTable(tables []*table, path string) *table {
	return tables[slices.IndexFunc(tables, func(t *table) bool { return t.path == path })]
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

// place returns the path in the file of a key that the job's own checker knows
// by another: that in [[job]], unless it is given at the top alone. Without a
// part it is the path itself.
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
		part, rest := path, ""
		if quoted, err := strconv.QuotedPrefix(path); err == nil {
			part, _ = strconv.Unquote(quoted)
			rest = strings.TrimPrefix(path[len(quoted):], ".")
		} else {
			part, rest, _ = strings.Cut(path, ".")
		}
		v, ok := m[part]
		if !ok {
			return false
		}
		m, _ = v.(map[string]any)
		path = rest
	}
	return true
}

// resolveJob checks job i as a scenario of its own: its keys on top of those of
// the file.
func (c *checker) resolveJob(i int, row map[string]any, jobs int) {
	job, below := &source{root: map[string]any{}}, &source{root: map[string]any{}}
	for _, section := range sections {
		if v, given := c.root[section]; given {
			below.root[section] = v
		}
		v, given := row[section]
		if !given {
			continue
		}
		if _, isTable := v.(map[string]any); !isTable {
			c.fault(jobPath(i, section), "is "+describe(v), "write it as a table: [job."+section+"]")
			return
		}
		job.root[section] = v
	}
	own := child(row, "fabric")
	for _, name := range sorted(own) {
		if t := findTable(jobsTables(), "fabric"); !slices.Contains(jobFabric, name) && t.find(name) != nil {
			c.fault(jobPath(i, joinPath("fabric", name)), "is not a job's to say: the jobs share the pods", "set it in [fabric] at the top")
			delete(own, name) // to find the other faults
		}
	}
	job.over(below)
	if fabric := child(job.root, "fabric"); fabric != nil {
		delete(fabric, "pods")
		if _, given := fabric["ports_per_pod"]; !given {
			// as many as can be of use; whether the jobs' ports suffice together
			// is looked at with all of them
			fabric["ports_per_pod"] = int64(maxPorts)
		}
	}
	sub := &checker{
		s: &Scenario{Name: "job"}, layers: c.layers, root: job.root, swept: c.swept, set: c.set,
		seen: map[string]bool{}, bad: map[string]bool{}, settled: map[string]bool{}, indexed: map[int]bool{},
		part: &jobPart{index: i, own: row, top: c.root},
	}
	if sub.resolve(); len(sub.faults) == 0 {
		checkFlows(sub)
		checkLength(sub)
	}
	for _, f := range sub.faults {
		told := func(o Fault) bool { return o.File == f.File && o.Line == f.Line && o.Key == f.Key && o.What == f.What }
		if !slices.ContainsFunc(c.faults, told) {
			c.faults = append(c.faults, f)
		}
	}
	if len(sub.faults) == 0 {
		c.s.Jobs[i].Scenario = sub.s
		c.placeJob(i, own)
	}
}

// placeJob gives the job's blocks of stages their pods.
func (c *checker) placeJob(i int, own map[string]any) {
	job := &c.s.Jobs[i]
	blocks, path := job.Scenario.PodsPerReplica(), jobPath(i, "pods")
	if !c.given(path) {
		job.Pods = job.Scenario.PodMap()
		path = joinPath("job", strconv.Itoa(i))
	}
	job.Scenario.Fabric.Reverse = false // the pods say so
	if !c.ok(path) {
		return
	}
	_, reverse := own["reverse"]
	switch n := c.s.Fabric.Pods; {
	case c.given(jobPath(i, "pods")) && reverse:
		c.fault(jobPath(i, "fabric.reverse"), "is not used beside pods", "leave it out, and list the pods in the order that is wanted")
	case len(job.Pods) != blocks:
		c.fault(path, fmt.Sprintf("lists %s for %s of stages", plural(len(job.Pods), "pod"), plural(blocks, "block")), fmt.Sprintf("list %d", blocks))
	case n > 0 && c.ok("fabric.pods") && slices.Max(job.Pods) >= n:
		c.clash([]string{path, "fabric.pods"}, fmt.Sprintf("there is no pod %d", slices.Max(job.Pods)), fmt.Sprintf("choose from 0 to %d, or raise fabric.pods", n-1))
	default:
		for k, pod := range job.Pods {
			if slices.Contains(job.Pods[:k], pod) {
				c.fault(path, fmt.Sprintf("pod %d is listed twice", pod), "list it once: a job's blocks of stages lie in different pods")
				return
			}
		}
	}
}

// settleJobs gives all that follows from the jobs together its value. All keys
// must be sound.
func (c *checker) settleJobs() {
	s := c.s
	s.Fabric = Fabric{Kind: s.Fabric.Kind, OCSPods: OCSPods{
		PortBandwidth: s.Fabric.PortBandwidth, PortsPerPod: s.Fabric.PortsPerPod, Pods: s.Fabric.Pods,
	}}
	ports := s.podPorts()
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
