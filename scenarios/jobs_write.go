// This file writes scenarios with several jobs as TOML.

package scenarios

import (
	"bytes"
	"strconv"
	"strings"

	"sim/scenarios/schema"
)

// jobsTOML is TOML for a scenario of several jobs: the common tables, followed by every job
// with all its keys.
func (s *Scenario) jobsTOML() []byte {
	var b bytes.Buffer
	tables := s.jobsSchema()

	// Tables at the top of the file. The fabric has the keys that all jobs share.
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

	// Each job with its workload, and the keys of [fabric] that belong to it.
	for i := range s.Jobs {
		tables.Table("job").WriteElement(&b, i, "job")
		for _, t := range s.Jobs[i].Scenario.schema().Tables {
			if t.Path == "fabric" {
				t.Write(&b, "job.fabric", "gpus_per_pod_per_replica", "nic_bandwidth")
			} else if isWithin(t.Path, "workload") && t.When.Applies() {
				t.Write(&b, "job."+t.Path)
			}
		}
	}
	return b.Bytes()
}

// isWithin reports whether path is a section or lies in it.
func isWithin(path, section string) bool {
	return path == section || strings.HasPrefix(path, section+".")
}

// jobTable returns the table of a job and its path. index is the text of its number. The
// table is nil if there is no such job.
func (c *checker) jobTable(index string) (map[string]any, string) {
	// Only the usual form of a number is accepted, not "+1" or "01".
	n, err := strconv.Atoi(index)
	if err != nil || n < 0 || strconv.Itoa(n) != index {
		return nil, ""
	}
	if rows := schema.Rows(c.Root["job"]); n < len(rows) {
		return rows[n], "job." + index
	}
	return nil, ""
}
