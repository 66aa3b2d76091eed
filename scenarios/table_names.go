// This file recognises tables under names that other tools and people use, such as [network]
// for [fabric].

package scenarios

import (
	"maps"
	"slices"

	"sim/scenarios/schema"
)

// otherTableNames maps names that people try for tables to the tables of scenarios.
var otherTableNames = map[string]string{
	"application":  "workload",
	"collective":   "workload",
	"datacenter":   "fabric",
	"hardware":     "fabric",
	"interconnect": "fabric",
	"job":          "workload", // as a table; [[job]] is an array of tables
	"machine":      "fabric",
	"model":        "workload",
	"net":          "fabric",
	"network":      "fabric",
	"routing":      "policy",
	"sim":          "engine",
	"simulation":   "engine",
	"simulator":    "engine",
	"system":       "fabric",
	"topology":     "fabric",
	"traffic":      "workload",
}

// routingNames are keys of [fabric] that people try for the policies of the fabric.
var routingNames = []string{"load_balancing", "router", "routers", "routing"}

// rejectOtherTableNames rejects tables at the top of the file under names that stand for
// another table, and names that table. The other table, with its keys, is then not reported
// as missing.
func (c *checker) rejectOtherTableNames() {
	for _, name := range slices.Sorted(maps.Keys(c.Root)) {
		if _, isTable := c.Root[name].(map[string]any); !isTable {
			continue
		}

		// A kind is a value of the key kind, not a table.
		table, remedy := otherTableNames[name], ""
		for _, section := range sections {
			if table == "" && findKind(section, name) != nil {
				table, remedy = section, "write ["+section+"] with kind = "+schema.Quote(name)
			}
		}

		switch {
		case table == "":
			continue
		case name == "job":
			remedy = "write [workload] for a single job, or [[job]] for each of several"
		case name == "model":
			remedy = `name the model in [workload], as in model = "llama3-70b", or describe it in [workload.architecture]`
		case remedy == "":
			remedy = "write [" + table + "]"
		}
		c.Reject(name, "unknown table", remedy)
		if _, given := c.Root[table]; !given {
			c.MarkInvalid(table)
		}
		delete(c.Root, name)
	}
}
