package routing

// Routing is the table of a scenario that selects routers and sets their options.
type Routing struct {
	Routers []string `key:"routers" doc:"routers to compare, one row each; route-optimised uses deadlock-free paths if there are any, and unconstrained_max_link_load is its load without this condition" else:"dor; wild-first where links or nodes of a torus are down, shortest where fabric.kind is graph" choices:"@routers"`
	Settings
}

// Options are the options of all routers.
type Options struct {
	Settings
	Seed uint64
	// Progress receives the estimated completed share of a search, from 0 to 1. It may be nil and
	// does not affect results.
	Progress func(share float64)
}

// Settings are the options of each router that are keys of a scenario.
type Settings struct {
	// Order lists the dimensions of a torus, the first to be routed first. If empty, the longest
	// dimension is first, and x, y, z among equal ones (Zu et al., NSDI 24, Sec. 4.1). Dimensions
	// with shifted wrap-around links come last. For wild-first paths (Sec. 4.2) the last
	// dimension has no failed links, if possible.
	Order          []string        `key:"order" doc:"order of dimensions; an empty list means longest first, or an order that suits the faults" default:"" choices:"x|y|z" empty:"" when:"read(order)"`
	WildFirst      WildFirst       `table:"wild-first" doc:"Wild-first routing (TPU v4, Sec. 4.2)." when:"read(wild-first)"`
	ECMP           ECMP            `table:"ecmp" doc:"Equal-cost multi-path." when:"read(ecmp)"`
	RandomShortest RandomShortest  `table:"random-shortest" doc:"Shortest paths at random." when:"read(random-shortest)"`
	Multipath      Multipath       `table:"multipath" doc:"Several routes a pair." when:"read(multipath)"`
	Optimised      OptimisedRouter `table:"route-optimised" doc:"The optimiser of routes (TPU v4, Sec. 4.3)." when:"read(route-optimised)"`
}

// wildFirst returns wild-first routing in the configured order.
func (s *Settings) wildFirst() WildRule {
	return WildRule{WildFirst: s.WildFirst, Order: s.Order}
}
