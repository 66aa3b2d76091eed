package mapping

// Keys say which mapping is used, or which are compared: keys of a scenario.
type Keys struct {
	Mapping   string   `key:"mapping" doc:"assignment of ranks to endpoints: an order of the dimensions 'tp', 'cp', 'ep', 'dp' and 'pp', innermost first; axes of a torus such as '{ tp = \"x\", dp = \"yz\" }' or 'tp=x,dp=yz'; a file with the endpoint of each rank per line; or 'optimised'" default:"tp-cp-ep-pp-dp" implicit:"" when:"placed"`
	Mappings  []string `key:"mappings" doc:"mappings to compare, one row each, with a single allocator or router" default:"" empty:"" implicit:"" when:"placed"`
	Endpoints [][]int  `key:"endpoints" doc:"endpoints of the ranks, one row per file named by mapping or mappings, instead of reading the file" default:"" implicit:"" max:"1048576" when:"placed"`
	Trials    int      `key:"mapping_trials" doc:"number of placements of stages for which the search calls the allocator" default:"40" min:"1" max:"1000000" when:"read(mapping_trials) & in-pods"`
	Budget    int      `key:"mapping_evaluations" doc:"evaluations of the search for the cheapest mapping: exchanges of ranks, and entries of bounds of partial mappings" default:"10000000" min:"1" max:"100000000000" when:"read(mapping_evaluations) & on-links"`
}

// Options are those of the search.
type Options struct {
	Evaluations int    // that it may take
	Trials      int    // of a Grouping: placements whose value it may ask for
	Seed        uint64 // of random exchanges
}

// IsSet reports whether a scenario asks where ranks are to be.
func (k *Keys) IsSet() bool { return k.ComparesMappings() || k.Mapping != "" && k.Mapping != Default }

// ComparesMappings reports whether the mapping is one of those that a scenario compares.
func (k *Keys) ComparesMappings() bool { return len(k.Mappings) > 0 }

// Default is the order in which ranks are numbered.
const Default = "tp-cp-ep-pp-dp"

// Names returns the mappings that there are rows of, or the only one.
func (k *Keys) Names() []string {
	if len(k.Mappings) > 0 {
		return k.Mappings
	}
	if k.Mapping == "" { // before it has its default
		return []string{Default}
	}
	return []string{k.Mapping}
}

// FileNames returns those of them that are files.
func (k *Keys) FileNames() (names []string) {
	for _, name := range k.Names() {
		if _, ok := Parse(name).(fileMapping); ok {
			names = append(names, name)
		}
	}
	return names
}

// FileEndpoints returns by name of a file the endpoints that it lists.
func (k *Keys) FileEndpoints() map[string][]int32 {
	all := map[string][]int32{}
	for i, name := range k.FileNames() {
		if i < len(k.Endpoints) {
			for _, e := range k.Endpoints[i] {
				all[name] = append(all[name], int32(e))
			}
		}
	}
	return all
}

// Restrict returns the keys with one mapping of those that are compared, which also is the one that is fixed where that is
// asked for.
func (k *Keys) Restrict(name string, fixed bool) Keys {
	restricted := *k
	restricted.Endpoints = nil
	for i, file := range k.FileNames() {
		if file == name && i < len(k.Endpoints) {
			restricted.Endpoints = k.Endpoints[i : i+1]
		}
	}
	if restricted.Mappings = []string{name}; fixed {
		restricted.Mapping = name
	}
	return restricted
}
