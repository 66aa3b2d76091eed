// This file checks the mappings that a scenario names.

package assembly

import (
	"sim/policies/mapping"
	"sim/scenarios/schema"
)

// CheckMappings reports the mappings of a scenario that check rejects. It skips mappings
// that are searched for. Errors of check have the form "problem; want remedy".
func CheckMappings(c *schema.Reader, k *mapping.Keys, check func(text string) error) {
	keys := []string{"policy.mappings", "policy.mapping"}
	for _, text := range k.Names() {
		if mapping.IsSearch(text) {
			continue
		}
		if err := check(text); err != nil {
			problem, remedy := SplitError(err)
			c.Conflict(keys, schema.Quote(text)+": "+problem, remedy)
		}
	}
}
