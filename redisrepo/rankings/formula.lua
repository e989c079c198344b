-- uses worth

-- formula_of returns three functions of a formula of formula.go: the key of an article by its net votes and its shift, the
-- shift by its posting time, and, up to rounding, the votes by the key without the shift. Keys are whole: with fractions,
-- two servers could differ in the last bit of a logarithm, and a cursor would miss an article.
local function formula_of(name, parameter, instant)
  local floor, log = math.floor, math.log
  local function same(x) return x end
  if name == 'TOP' then return same, same end -- the key is the votes, and needs no inverse
  if name == 'LINEAR' then
    return function(votes, shift) return votes * parameter + shift end, same, function(weight) return weight / parameter end
  elseif name == 'HALF_LIFE' then
    local ranking, weights = 'halflife ' .. parameter, {} -- most articles have few votes
    return function(votes, shift)
      local weight = weights[votes] or worth(ranking, votes)
      weights[votes] = weight
      return weight + shift
    end, same, function(weight) return (2 ^ math.abs(weight / parameter) - 1) * (weight < 0 and -1 or 1) end
  end
  return function(votes, shift) return floor((votes > 1 and 1e6 * log(votes - 1) or 1e8 * (votes - 2)) + shift + 0.5) end,
    function(time) return -1e6 * parameter * log((instant - time) / 3600 + 2) end,
    function(weight) return weight > 0 and math.exp(weight / 1e6) + 1 or weight / 1e8 + 2 end
end
