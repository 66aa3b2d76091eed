package assembly

import (
	"sim/policies/mapping"
	"sim/scenarios/schema"
)

// CheckMappings refuses the mappings that a scenario names, all but what is searched for, if check finds a fault in their
// text. The text of the error is "what is wrong; want what would be right".
func CheckMappings(c *schema.Reader, k *mapping.Keys, check func(text string) error) {
	for _, text := range k.Names() {
		if mapping.IsSearch(text) {
			continue
		}
		if err := check(text); err != nil {
			problem, remedy := SplitError(err)
			c.Conflict([]string{"policy.mappings", "policy.mapping"}, schema.Quote(text)+": "+problem, remedy)
		}
	}
}
