-- sift moves the item at an index of a heap down to where it belongs. The item with the highest bound is the first.
local function sift(heap, bound, from)
  local size, item, at = #heap, heap[from], from
  local key = bound[item]
  while 2 * at <= size do
    local child = 2 * at
    if child < size and bound[heap[child + 1]] > bound[heap[child]] then child = child + 1 end
    if bound[heap[child]] <= key then break end
    heap[at] = heap[child]
    at = child
  end
  heap[at] = item
end

-- drop_top takes the first item out of a heap.
local function drop_top(heap, bound)
  local last = table.remove(heap)
  if #heap > 0 then
    heap[1] = last
    sift(heap, bound, 1)
  end
end
