// This file checks policy.lender_allocator, by which a job lends ports that it does not need to a
// second job in the same pods.
//
// The methods of checker report faults of keys as "PROBLEM; REMEDY". A check is skipped if
// a key that it needs has a fault already (c.OK).

package scenarios

import "sim/policies/topology"

// portLenders returns the values of policy.lender_allocator: the allocators that can lend ports to a
// second job, and the name for no lending.
func portLenders() []string {
	names := []string{topology.NoLender}
	for _, r := range topology.Table {
		if r.Single {
			names = append(names, r.Name)
		}
	}
	return names
}

// checkPortLending checks that a second, identical job fits into the pods of the scenario.
// It borrows the ports that the first job does not use.
func checkPortLending(c *checker) {
	if !c.OK("policy.lender_allocator") || !c.s.Policy.HasLender() || len(c.s.Jobs) > 0 {
		return
	}
	c.conflictIf(len(c.s.Replicas) > 0 && c.OK("replica"), "policy.lender_allocator replica.0",
		`the port-lending job has identical replicas, and so does the scenario's job; leave out the replicas that differ, or set lender_allocator = "%s"`,
		topology.NoLender)
	c.conflictIf(c.s.Workload.ReplicaMode == "decomposed" && c.OK("workload.replicas"),
		"policy.lender_allocator workload.replicas",
		`does not go with replicas = "decomposed", which decides for heterogeneous replicas one by one; set replicas = "single" or "all"`)
}
