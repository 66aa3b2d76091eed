package routing

// The options of routers are keys of the table [policy] of a scenario. The struct tags give each
// key, its description, default and permitted values; package scenarios/schema reads them.

// Routing has the keys that select routers and set their options.
type Routing struct {
	Routers []string `key:"routers" all:"" doc:"routers, or 'all', to compare, one row each; route-optimised uses deadlock-free paths if there are any, and unconstrained_max_link_load is its load without this condition" else:"dor; wild-first where links or nodes of a torus are down, ecmp on fabrics other than tori" choices:"@routers"`
	Settings
}

// Options are the arguments of Router.Route besides the problem.
type Options struct {
	Settings
	Seed uint64
	// Progress receives the estimated completed share of a search, from 0 to 1. It may be nil and
	// does not affect results.
	Progress func(share float64)
}

// Settings are the options of all routers that are keys of a scenario: the order of dimensions, and
// one table per router that has options.
type Settings struct {
	// Order lists the dimensions of a torus in the order in which routers complete their hops. If
	// it is empty, longer dimensions come first, and equally long ones in the order x, y, z (Zu et
	// al., NSDI 24, Sec. 4.1). Dimensions with shifted wrap-around links come last. For wild-first
	// paths (Sec. 4.2), a dimension without failed links comes last, if there is one.
	Order          []string        `key:"order" doc:"order of dimensions; an empty list means longest first, or an order that suits the faults" default:"" choices:"x|y|z" empty:"" when:"read(order)"`
	WildFirst      WildFirst       `table:"wild-first" doc:"Wild-first routing (TPU v4, Sec. 4.2)." when:"read(wild-first)"`
	ECMP           ECMP            `table:"ecmp" doc:"Equal-cost multi-path." when:"read(ecmp)"`
	RandomShortest RandomShortest  `table:"random-shortest" doc:"Shortest paths at random." when:"read(random-shortest)"`
	Multipath      Multipath       `table:"multipath" doc:"Several routes a pair." when:"read(multipath)"`
	Optimised      OptimisedRouter `table:"route-optimised" doc:"The optimiser of routes (TPU v4, Sec. 4.3)." when:"read(route-optimised)"`
}

// wildFirst returns the rule of wild-first paths with the configured order of dimensions.
func (s *Settings) wildFirst() WildRule {
	return WildRule{WildFirst: s.WildFirst, Order: s.Order}
}
