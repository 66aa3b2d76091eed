package routing

// Routing says which routers are compared, with their options: keys of a scenario.
type Routing struct {
	Routers []string `key:"routers" doc:"routers to compare, one row each; route-optimised uses deadlock-free paths if there are any, and unconstrained_max_link_load is its load without this condition" else:"dor; wild-first where links or nodes of a torus are down, shortest where fabric.kind is graph" choices:"@routers"`
	Settings
}

// Options are those of all routers.
type Options struct {
	Settings
	Seed uint64
	// Progress is told how far a router that searches has come, from 0 to 1, roughly. It may be nil and changes nothing.
	Progress func(share float64)
}

// Settings are the options of each router that are keys.
type Settings struct {
	// Order is the dimensions of tori from the first routed to the last; none is the longest first, in x, y, z among
	// equal ones (Zu et al., NSDI 24, Sec. 4.1), but those whose wrap-around links are shifted last, and of wild-first
	// routes (Sec. 4.2) one in which links are down not last.
	Order          []string       `key:"order" doc:"order of dimensions; an empty list means longest first, or an order that suits the faults" default:"" choices:"x|y|z" empty:"" when:"read(order)"`
	WildFirst      WildFirst      `table:"wild-first" doc:"Wild-first routing (TPU v4, Sec. 4.2)." when:"read(wild-first)"`
	ECMP           ECMP           `table:"ecmp" doc:"Equal-cost multi-path." when:"read(ecmp)"`
	RandomShortest RandomShortest `table:"random-shortest" doc:"Shortest paths at random." when:"read(random-shortest)"`
	Multipath      Multipath      `table:"multipath" doc:"Several routes a pair." when:"read(multipath)"`
	Optimised      Optimised      `table:"route-optimised" doc:"The optimiser of routes (TPU v4, Sec. 4.3)." when:"read(route-optimised)"`
}

// wildFirst returns wild-first routing in the order of all.
func (s *Settings) wildFirst() WildRule { return WildRule{WildFirst: s.WildFirst, Order: s.Order} }
