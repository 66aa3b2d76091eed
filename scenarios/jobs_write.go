package scenarios

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// jobsTOML is TOML of a scenario of several jobs: what is common, then every
// job with all keys of its own.
func (s *Scenario) jobsTOML() []byte {
	var b bytes.Buffer
	tables := jobsTables()
	for _, t := range tables {
		switch {
		case !t.when.applies(s) || t.path == "job":
		case t.path == "fabric":
			names := []string{"kind", "port_bandwidth"}
			for name, v := range map[string]int{"ports_per_pod": s.Fabric.PortsPerPod, "pods": s.Fabric.Pods} {
				if v > 0 {
					names = append(names, name) // written in the table's order
				}
			}
			t.write(&b, s, 0, t.path, names...)
		default:
			t.write(&b, s, 0, t.path)
		}
	}
	job := findTable(tables, "job")
	for i := range s.Jobs {
		job.write(&b, s, i, job.path)
		one := s.Jobs[i].Scenario
		for _, t := range tablesOf(one) {
			if t.path == "fabric" {
				t.write(&b, one, 0, "job.fabric", "gpus_per_pod_per_replica", "nic_bandwidth")
			} else if under(t.path, "workload") && t.when.applies(one) {
				t.write(&b, one, 0, "job."+t.path)
			}
		}
	}
	return b.Bytes()
}

// under reports whether a path is that of a section or below it.
func under(path, section string) bool {
	return path == section || strings.HasPrefix(path, section+".")
}

// jobAt returns the table of job number index and its path, nil where there is
// none.
func (c *checker) jobAt(index string) (map[string]any, string) {
	n, err := strconv.Atoi(index)
	if err != nil || n < 0 || strconv.Itoa(n) != index {
		return nil, ""
	}
	var rows int
	switch v := c.root["job"].(type) {
	case []map[string]any:
		rows = len(v)
	case []any:
		rows = len(v)
	}
	if n >= rows {
		return nil, ""
	}
	return c.jobRow(n), "job." + index
}

// jobsWords says in a line which jobs are run on what.
func (s *Scenario) jobsWords() string {
	total := 0
	var jobs []string
	for i := range s.Jobs {
		job := &s.Jobs[i]
		w, f := &job.Scenario.Workload, &job.Scenario.Fabric
		total += w.GPUs
		model := w.Architecture.Name
		if model == "" {
			model = "a model"
		}
		jobs = append(jobs, fmt.Sprintf("%s (%s on %d GPUs: %s in %s each, %d GPUs in each)", job.Name, model, w.GPUs,
			plural(w.ReplicaCount(), "replica"), plural(len(job.Pods), "pod"), f.GPUsPerPodPerReplica))
	}
	name := plural(len(s.Jobs), "job")
	if s.Title != "" {
		name = s.Title
	}
	ports := s.podPorts()
	used := slices.DeleteFunc(slices.Clone(ports), func(n int) bool { return n == 0 })
	most, least := slices.Max(used), slices.Min(used)
	each := fmt.Sprint(most)
	if least < most {
		each = fmt.Sprintf("%d to %d", least, most)
	}
	return fmt.Sprintf("%s on %d GPUs: %s; %s optical ports of %v a pod for all of them", name, total, strings.Join(jobs, ", "), each, s.Fabric.PortBandwidth)
}
