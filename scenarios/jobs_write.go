package scenarios

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sim/scenarios/schema"
)

// jobsTOML is TOML of a scenario of several jobs: what is common, then every
// job with all keys of its own.
func (s *Scenario) jobsTOML() []byte {
	var b bytes.Buffer
	tables := s.jobsSchema()
	for _, t := range tables.Tables {
		switch {
		case !t.When.Applies() || t.Path == "job":
		case t.Path == "fabric":
			names := []string{"kind", "port_bandwidth"}
			if s.Fabric.PortsPerPod > 0 {
				names = append(names, "ports_per_pod")
			}
			if s.Fabric.Pods > 0 {
				names = append(names, "pods")
			}
			t.Write(&b, t.Path, names...)
		default:
			t.Write(&b, t.Path)
		}
	}
	for i := range s.Jobs {
		tables.Table("job").WriteElement(&b, i, "job")
		for _, t := range s.Jobs[i].Scenario.schema().Tables {
			if t.Path == "fabric" {
				t.Write(&b, "job.fabric", "gpus_per_pod_per_replica", "nic_bandwidth")
			} else if under(t.Path, "workload") && t.When.Applies() {
				t.Write(&b, "job."+t.Path)
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
	if rows := schema.Rows(c.Root["job"]); n < len(rows) {
		return rows[n], "job." + index
	}
	return nil, ""
}

// jobsWords says in a line which jobs are run on what.
func (s *Scenario) jobsWords() string {
	total := 0
	var jobs []string
	for i := range s.Jobs {
		job := &s.Jobs[i]
		w, f := &job.Scenario.Workload, &job.Scenario.Fabric
		total += w.GPUs
		model := w.Arch.Name
		if model == "" {
			model = "a model"
		}
		jobs = append(jobs, fmt.Sprintf("%s (%s on %d GPUs: %s in %s each, %d GPUs in each)", job.Name, model, w.GPUs,
			plural(w.Replicas(), "replica"), plural(len(job.Pods), "pod"), f.GPUsPerPodPerReplica))
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
