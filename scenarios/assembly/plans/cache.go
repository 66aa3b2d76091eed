// This file caches the plans that planners have found, because sweeps use the same
// plans with many reconfiguration delays.

package plans

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"sim/policies/reconfigure"
	"sim/policies/reconfigure/plan"
)

// sharedPlannings holds the most recent plannings of all scenarios, so that a
// sweep over reconfiguration delays searches for plans once.
var sharedPlannings planningCache

// planningCache is a cache of plannings that evicts the oldest. The zero value is
// an empty cache.
type planningCache struct {
	mu    sync.Mutex          // guards the other fields
	keys  [][sha256.Size]byte // hashes of problems and options, the oldest first
	byKey map[[sha256.Size]byte]*reconfigure.PlannerSet
}

// maxPlannings is sufficient for the settings of the studies that run at the same
// time, and for the stages of a training step with drawn sizes.
const maxPlannings = 64

// get returns the planning of a problem with the given options, from the cache if
// possible.
func (k *planningCache) get(p *plan.Problem, o reconfigure.Options) (*reconfigure.PlannerSet, error) {
	// The key is a hash of everything that affects the candidates.
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %d\n", p.GPUs, p.Degree, p.Seed)
	for _, c := range p.Chunks {
		h.Write([]byte{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)})
	}

	// The file name and the number of workers do not affect the candidates, and
	// the imported plans are hashed as JSON.
	relevant := o
	relevant.Plans, relevant.Imported = nil, reconfigure.ImportedOptions{}
	relevant.Workers = 0
	fmt.Fprintf(h, "%+v\n", relevant)
	if err := plan.WriteJSON(h, o.Plans); err != nil {
		return nil, err
	}

	key := [sha256.Size]byte(h.Sum(nil))
	k.mu.Lock()
	defer k.mu.Unlock()
	if planning, ok := k.byKey[key]; ok {
		return planning, nil
	}
	planning, err := reconfigure.NewPlannerSet(p, o)
	if err != nil {
		return nil, err
	}

	if k.byKey == nil {
		k.byKey = map[[sha256.Size]byte]*reconfigure.PlannerSet{}
	}

	if len(k.keys) == maxPlannings {
		delete(k.byKey, k.keys[0])
		k.keys = slices.Delete(k.keys, 0, 1)
	}

	k.keys = append(k.keys, key)
	k.byKey[key] = planning
	return planning, nil
}

// ForgetPlans empties the cache of plannings, for tests and benchmarks.
func ForgetPlans() {
	sharedPlannings.mu.Lock()
	defer sharedPlannings.mu.Unlock()
	sharedPlannings.keys, sharedPlannings.byKey = nil, nil
}
