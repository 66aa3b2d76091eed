package mapping

// Keys are the keys of a scenario that select the mapping, or the mappings to compare.
type Keys struct {
	Mapping   string   `key:"mapping" doc:"assignment of ranks to endpoints: an order of the dimensions 'tp', 'cp', 'ep', 'dp' and 'pp', innermost first; axes of a torus such as '{ tp = \"x\", dp = \"yz\" }' or 'tp=x,dp=yz'; a file with the endpoint of each rank per line; or 'optimised'" default:"tp-cp-ep-pp-dp" implicit:"" when:"placed"`
	Mappings  []string `key:"mappings" doc:"mappings to compare, one row each, with a single allocator or router" default:"" empty:"" implicit:"" when:"placed"`
	Endpoints [][]int  `key:"endpoints" doc:"endpoints of the ranks, one row per file named by mapping or mappings, instead of reading the file" default:"" implicit:"" max:"1048576" when:"placed"`
	Trials    int      `key:"mapping_trials" doc:"number of placements of stages for which the search calls the allocator" default:"40" min:"1" max:"1000000" when:"read(mapping_trials) & in-pods"`
	Budget    int      `key:"mapping_evaluations" doc:"evaluations of the search for the cheapest mapping: exchanges of ranks, and entries of bounds of partial mappings" default:"10000000" min:"1" max:"100000000000" when:"read(mapping_evaluations) & on-links"`
}

// Options are the options of the searches.
type Options struct {
	Evaluations int    // budget of CostSearch
	Trials      int    // budget of a Grouping: placements whose value it may request
	Seed        uint64 // of random exchanges
}

// IsSet reports whether a scenario selects a mapping other than the default.
func (k *Keys) IsSet() bool { return k.ComparesMappings() || k.Mapping != "" && k.Mapping != Default }

// ComparesMappings reports whether a scenario compares mappings.
func (k *Keys) ComparesMappings() bool { return len(k.Mappings) > 0 }

// Default is the order in which ranks are numbered.
const Default = "tp-cp-ep-pp-dp"

// Names returns the mappings that are compared, or the only mapping.
func (k *Keys) Names() []string {
	if len(k.Mappings) > 0 {
		return k.Mappings
	}
	if k.Mapping == "" { // before defaults are filled in
		return []string{Default}
	}
	return []string{k.Mapping}
}

// FileNames returns the names that are files.
func (k *Keys) FileNames() (names []string) {
	for _, name := range k.Names() {
		if _, ok := Parse(name).(fileMapping); ok {
			names = append(names, name)
		}
	}
	return names
}

// FileEndpoints returns the endpoints that each file lists, by file name.
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

// Restrict returns the keys with only one of the compared mappings. With fixed, it also becomes
// the mapping of policies that compare something else.
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
