import { keepPlace, navigate } from "../ui/router";
import { type Site, signInAddress } from "./session";

/** Goes to the sign-in page, which returns to the current page. */
export function askToSignIn(site?: Site, event?: Event): void {
  event?.preventDefault();
  const here = location.pathname === "/signin" ? "/" : location.pathname + location.search;
  keepPlace(here);
  if (site?.signInURL) location.assign(signInAddress(site, here));
  else navigate(`/signin?${new URLSearchParams({ to: here })}`);
}
