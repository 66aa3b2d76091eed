// Package engine defines the four data types that all of sim shares: Graph (tasks and their
// dependencies), Network (links and their rates), Routes (the resources that each task uses)
// and Trace (the times at which tasks ran). All are plain data with integer ids.
//
// Further types support them. Paths and NextHops describe routing by ports; RoutesOf converts
// it to Routes. Contention describes servers and message queues that tasks compete for.
// Contract and Fold return smaller graphs with the same times. Queue is the event queue of all
// simulators.
//
// The package does not depend on GPUs, optics or training. Simulators are sub-packages (flow,
// packet, static), fabric builds networks, workloads build graphs, and policies choose between
// networks. Begin reading with graph.go and network.go.
package engine
