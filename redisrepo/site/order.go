package site

// Order is the key that a listing is sorted by. The zero value is invalid.
type Order int

// The orders. Articles with equal keys are sorted by the bytes of their members, as in Redis.
const (
	ByScore Order = iota + 1
	ByTime
	BySize // of groups, in the index of their sizes
)

// Prefix begins the keys of the listings in this order.
func (o Order) Prefix() string {
	switch o {
	case ByTime:
		return "time:"
	case BySize:
		return "sizes:"
	default:
		return "score:"
	}
}

// Direction is the direction of an order. The zero value is invalid.
type Direction int

// The directions.
const (
	Descending Direction = iota + 1
	Ascending
)
